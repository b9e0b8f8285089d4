// The extension: opens a saved report, or runs `mayhap` and opens the report that it saves.
"use strict";

const { spawn } = require("node:child_process");
const crypto = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");

const { diagnostics } = require("./diagnostics");
const { page } = require("./page");
const { Sources, read, shown, visible } = require("./report");
const { Tree } = require("./tree");

function activate(context) {
  const mayhap = new Mayhap();
  const command = (name, act) => vscode.commands.registerCommand(name, act);
  context.subscriptions.push(
    mayhap.problems,
    mayhap.output,
    vscode.window.registerTreeDataProvider("mayhap.findings", mayhap.tree),
    command("mayhap.openReport", (uri) => mayhap.openReport(uri)),
    command("mayhap.runFile", () => mayhap.runFile()),
    command("mayhap.showFinding", (node) => mayhap.showFinding(node)),
    command("mayhap.openPlace", (place) => mayhap.openPlace(place)),
    command("mayhap.clear", () => mayhap.clear()),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, { provideCodeActions: (document, range, given) => mayhap.actions(given) }),
  );
  return mayhap;
}

class Mayhap {
  constructor() {
    this.problems = vscode.languages.createDiagnosticCollection("mayhap");
    this.output = vscode.window.createOutputChannel("mayhap");
    this.tree = new Tree();
    this.clear();
  }

  clear() {
    this.report = undefined;
    this.findings = [];
    this.sources = new Sources([]);
    this.problems.clear();
    this.tree.show([]);
    this.panel?.dispose();
    vscode.commands.executeCommand("setContext", "mayhap.hasReport", false);
  }

  /** Asks for a report unless one is given, and shows it. */
  async openReport(uri) {
    const chosen = uri ?? (await vscode.window.showOpenDialog({ title: "Open a mayhap report", filters: { "Reports": ["json"], "All files": ["*"] } }))?.[0];
    if (!chosen) {
      return;
    }
    try {
      this.show(read(chosen.fsPath), path.dirname(chosen.fsPath));
    } catch (error) {
      vscode.window.showErrorMessage(`mayhap: ${visible(error.message)}`);
    }
  }

  /** Shows a report whose paths are relative to `folder`. */
  show(report, folder) {
    this.clear();
    this.report = report;
    this.findings = shown(report);
    this.sources = new Sources([folder, ...(vscode.workspace.workspaceFolders ?? []).map((one) => one.uri.fsPath)]);
    const { entries, without } = diagnostics(report, this.findings, this.sources);
    this.problems.set(entries);
    this.tree.show(this.findings);
    vscode.commands.executeCommand("setContext", "mayhap.hasReport", true);
    const count = this.findings.length;
    const absent = without.length ? `; the sources of ${without.length} were not found here, they are in the view only` : "";
    vscode.window.showInformationMessage(`mayhap: ${count === 0 ? "no findings" : count === 1 ? "1 finding" : `${count} findings`}${absent}`);
  }

  /** Runs `mayhap run` on the file that is open, or `mayhap cargo test` in its package, and shows the report. */
  async runFile() {
    const document = vscode.window.activeTextEditor?.document;
    if (!document || document.uri.scheme !== "file") {
      vscode.window.showErrorMessage("mayhap: open a C, C++ or Rust file first");
      return;
    }
    if (document.isDirty && !(await document.save())) {
      return;
    }
    const file = document.uri.fsPath;
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mayhap-code-"));
    const saved = path.join(folder, "report.json");
    try {
      const job = this.job(document.languageId, file, saved);
      const options = { location: vscode.ProgressLocation.Notification, title: `mayhap: ${path.basename(file)}`, cancellable: true };
      const ended = await vscode.window.withProgress(options, (progress, token) => this.execute(job, token));
      if (fs.existsSync(saved)) {
        this.show(read(saved), job.folder);
      }
      // 0: nothing found, 1: findings, 3: undecided. What else there is was not done as asked.
      if (![0, 1, 3].includes(ended.code)) {
        const reason = ended.errors.trim().split("\n").findLast((line) => line.startsWith("mayhap: ")) ?? ended.errors.trim().split("\n").at(-1);
        vscode.window.showErrorMessage(visible(reason || `mayhap ended with exit code ${ended.code}`));
        this.output.show(true);
      }
    } catch (error) {
      vscode.window.showErrorMessage(`mayhap: ${visible(error.message)}`);
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  }

  /** The command line for a file and the folder that it runs in. */
  job(language, file, saved) {
    const settings = vscode.workspace.getConfiguration("mayhap");
    const command = settings.get("command") || "mayhap";
    const further = settings.get("arguments") ?? [];
    if (language === "rust") {
      return { command, words: ["cargo", "test", "--save", saved, ...further], folder: packageOf(file) ?? path.dirname(file) };
    }
    const folder = vscode.workspace.getWorkspaceFolder?.(vscode.Uri.file(file))?.uri.fsPath ?? path.dirname(file);
    // A name that begins with a dash is a path all the same.
    const name = path.relative(folder, file);
    return { command, words: ["run", "--save", saved, ...further, name.startsWith("-") ? `./${name}` : name], folder };
  }

  /** Runs a job; cancelling it is Ctrl-C, which keeps what was found. */
  execute({ command, words, folder }, token) {
    this.output.clear();
    this.output.appendLine(`$ ${[command, ...words].join(" ")}`);
    return new Promise((resolve, reject) => {
      const child = spawn(command, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } });
      let errors = "";
      child.stdout.setEncoding("utf8").on("data", (text) => this.output.append(text));
      child.stderr.setEncoding("utf8").on("data", (text) => {
        this.output.append(text);
        errors = (errors + text).slice(-65536);
      });
      child.on("error", (error) => {
        const absent = `cannot run ${command}: no such command; the setting mayhap.command names the executable`;
        reject(error.code === "ENOENT" ? new Error(absent) : error);
      });
      child.on("close", (code) => resolve({ code, errors }));
      token.onCancellationRequested(() => child.kill("SIGINT"));
    });
  }

  /** Shows the page of a finding beside the source. */
  showFinding(node) {
    const finding = node?.finding ?? this.findings.find((one) => one.id === node);
    if (!finding) {
      return;
    }
    if (!this.panel) {
      const options = { enableScripts: true, localResourceRoots: [], enableFindWidget: true };
      const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      const panel = vscode.window.createWebviewPanel("mayhap.finding", "mayhap", column, options);
      panel.onDidDispose(() => (this.panel = undefined));
      panel.webview.onDidReceiveMessage((message) => this.receive(message));
      this.panel = panel;
    }
    this.panel.title = visible(finding.title ?? finding.id);
    this.panel.webview.html = page(this.report, finding, crypto.randomBytes(16).toString("hex"));
    this.panel.reveal(undefined, true);
  }

  receive(message) {
    if (typeof message?.open === "string") {
      return this.openPlace({ file: message.open, line: message.line, column: message.column });
    }
    if (typeof message?.copy === "string") {
      return vscode.env.clipboard.writeText(message.copy);
    }
    return undefined;
  }

  /** Opens a place of a report in an editor. */
  async openPlace(place) {
    const file = this.sources.find(String(place.file));
    if (!file) {
      vscode.window.showWarningMessage(`mayhap: ${visible(place.file)} is not in this workspace`);
      return;
    }
    const line = Math.max((Number(place.line) || 1) - 1, 0);
    const column = Math.max((Number(place.column) || 1) - 1, 0);
    const at = new vscode.Range(line, column, line, column);
    await vscode.window.showTextDocument(vscode.Uri.file(file), { selection: at, viewColumn: vscode.ViewColumn.One });
  }

  /** The lamp at a diagnostic leads to the finding's page. */
  actions(given) {
    return given.diagnostics.filter((one) => one.source === "mayhap").map((one) => {
      const action = new vscode.CodeAction("Show both stacks and the interleaving", vscode.CodeActionKind.QuickFix);
      const id = String(one.code?.value ?? one.code).split(" ").pop();
      action.command = { command: "mayhap.showFinding", title: action.title, arguments: [id] };
      action.diagnostics = [one];
      return action;
    });
  }
}

/** The folder of the package that a Rust file belongs to. */
function packageOf(file) {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    if (fs.existsSync(path.join(folder, "Cargo.toml"))) {
      return folder;
    }
    if (path.dirname(folder) === folder) {
      return undefined;
    }
  }
}

module.exports = { activate, deactivate() {} };
