// What the extension uses of the editor's interface, without an editor: it remembers what it was asked to show.
"use strict";

const Module = require("node:module");

class Range {
  constructor(startLine, startCharacter, endLine, endCharacter) {
    Object.assign(this, { start: { line: startLine, character: startCharacter }, end: { line: endLine, character: endCharacter } });
  }
}

class EventEmitter {
  listeners = [];
  event = (listener) => this.listeners.push(listener);
  fire(value) {
    this.listeners.forEach((listener) => listener(value));
  }
}

class Value {
  constructor(...parts) {
    this.parts = parts;
  }
}

/** A fresh editor. */
function editor() {
  const seen = { messages: [], commands: new Map(), contexts: {}, opened: [], problems: [], panels: [], output: "", copied: "" };
  const say = (kind) => (text) => {
    seen.messages.push([kind, text]);
    return Promise.resolve(undefined);
  };
  const vscode = {
    EventEmitter, Range,
    Uri: { file: (fsPath) => ({ fsPath, scheme: "file" }) },
    Location: class { constructor(uri, range) { Object.assign(this, { uri, range }); } },
    Diagnostic: class { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } },
    DiagnosticRelatedInformation: class { constructor(location, message) { Object.assign(this, { location, message }); } },
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    TreeItem: class { constructor(label, collapsibleState) { Object.assign(this, { label, collapsibleState }); } },
    TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
    ThemeIcon: Value, ThemeColor: Value,
    CodeAction: class { constructor(title, kind) { Object.assign(this, { title, kind }); } },
    CodeActionKind: { QuickFix: "quickfix" },
    ProgressLocation: { Notification: 15 },
    ViewColumn: { One: 1, Beside: -2 },
    env: { clipboard: { writeText: async (text) => { seen.copied = text; } } },
    commands: {
      registerCommand: (name, act) => { seen.commands.set(name, act); return { dispose() {} }; },
      executeCommand: (name, key, value) => { if (name === "setContext") seen.contexts[key] = value; },
    },
    languages: {
      createDiagnosticCollection: () => ({ clear: () => { seen.problems = []; }, set: (entries) => { seen.problems = entries; }, dispose() {} }),
      registerCodeActionsProvider: (_, provider) => { seen.actions = provider; return { dispose() {} }; },
    },
    workspace: {
      workspaceFolders: [],
      getWorkspaceFolder: () => vscode.workspace.workspaceFolders[0],
      getConfiguration: () => ({ get: (name) => seen.settings?.[name] }),
    },
    window: {
      createOutputChannel: () => ({
        clear: () => { seen.output = ""; }, append: (text) => { seen.output += text; }, appendLine: (text) => { seen.output += `${text}\n`; },
        show() {}, dispose() {},
      }),
      registerTreeDataProvider: (_, tree) => { seen.tree = tree; return { dispose() {} }; },
      showOpenDialog: async () => seen.chosen,
      showErrorMessage: say("error"), showWarningMessage: say("warning"), showInformationMessage: say("information"),
      showTextDocument: async (uri, options) => { seen.opened.push([uri.fsPath, options.selection.start]); },
      withProgress: (_, act) => act({ report() {} }, { onCancellationRequested: (listener) => { seen.cancel = listener; } }),
      createWebviewPanel: () => {
        const gone = new EventEmitter();
        const received = new EventEmitter();
        const panel = {
          webview: { html: "", onDidReceiveMessage: received.event }, title: "", reveal() {},
          onDidDispose: gone.event, dispose: () => gone.fire(), post: (message) => received.fire(message),
        };
        seen.panels.push(panel);
        return panel;
      },
    },
  };
  return { vscode, seen };
}

/** The extension, activated in a fresh editor. */
function activated() {
  const { vscode, seen } = editor();
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
  try {
    for (const name of ["../extension", "../tree", "../diagnostics"]) {
      delete require.cache[require.resolve(name)];
    }
    const context = { subscriptions: [] };
    const mayhap = require("../extension").activate(context);
    return { vscode, seen, mayhap, context };
  } finally {
    Module._load = load;
  }
}

module.exports = { activated };
