// The tree of a report: findings; in each its sides with their stacks, and both runs with their steps.
"use strict";

const vscode = require("vscode");
const { functionText, placeText, primary, sideText, stepPlace, threadLabel, visible } = require("./report");

const ICONS = { error: ["error", "list.errorForeground"], warning: ["warning", "list.warningForeground"], note: ["info", undefined] };

class Tree {
  constructor() {
    this.changed = new vscode.EventEmitter();
    this.onDidChangeTreeData = this.changed.event;
    this.roots = [];
  }

  /** Shows the findings of a report; an empty list for none. */
  show(findings) {
    this.roots = findings.map((finding, index) => findingNode(finding, index));
    this.changed.fire();
  }

  getChildren(node) {
    return node ? node.children() : this.roots;
  }

  getTreeItem(node) {
    const { None, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(node.label, node.children().length ? Collapsed : None);
    item.description = node.description;
    item.tooltip = node.tooltip ?? node.label;
    item.contextValue = node.kind;
    if (node.icon) {
      item.iconPath = new vscode.ThemeIcon(node.icon[0], node.icon[1] && new vscode.ThemeColor(node.icon[1]));
    }
    if (node.kind === "finding") {
      item.command = { command: "mayhap.showFinding", title: "show", arguments: [node] };
    } else if (node.place?.file && node.place?.line) {
      item.command = { command: "mayhap.openPlace", title: "open", arguments: [node.place] };
    }
    return item;
  }
}

const leaf = (label, description, place, icon) => ({ kind: "place", label, description, place, icon: icon && [icon], children: () => [] });

function findingNode(finding, index) {
  const children = [...finding.events.map((side) => sideNode(finding, side)), ...runNodes(finding)];
  const place = placeText(primary(finding)?.source);
  return {
    kind: "finding",
    index,
    finding,
    label: visible(finding.title ?? finding.id),
    description: [finding.verdict, place].filter(Boolean).join(" · "),
    tooltip: [finding.title, finding.message, finding.why, finding.certainty].filter(Boolean).map(visible).join("\n\n"),
    icon: ICONS[finding.severity] ?? ICONS.note,
    children: () => children,
  };
}

function frames(stack) {
  return (stack ?? []).map((frame) => leaf(functionText(frame.function) || placeText(frame), placeText(frame), frame));
}

function sideNode(finding, side) {
  const stack = frames(side.stack?.length ? side.stack : [side.source].filter(Boolean));
  const created = side.created;
  if (created) {
    const calls = frames(created.stack?.length ? created.stack : [created.source].filter(Boolean));
    stack.push({ ...leaf(visible(`started by ${created.thread}`), placeText(created.source), created.source, "run"), children: () => calls });
  }
  const label = sideText(finding, side);
  return { ...leaf(label, placeText(side.source) || visible(side.location ?? ""), side.source, "symbol-event"), children: () => stack };
}

const MARKS = { next: "arrow-right", blocked: "circle-slash", target: "circle-filled", changed: "diff-modified" };

function runNodes(finding) {
  const story = finding.story;
  return [["recorded run", story?.observed], ["possible run", story?.possible]]
    .filter(([, steps]) => steps?.length)
    .map(([title, steps]) => {
      const nodes = steps.flatMap((step) => {
        const left = step.skipped > 0 ? [leaf(`⋮ ${step.skipped} ${step.skipped === 1 ? "step" : "steps"}`)] : [];
        const thread = threadLabel(finding, story.threads[step.column]);
        const remark = step.remark ? ` (${step.remark})` : "";
        const label = visible(`${thread}: ${"  ".repeat(step.depth ?? 0)}${step.text}${remark}`);
        return [...left, leaf(label, visible(step.location ?? ""), stepPlace(finding, step), MARKS[step.mark])];
      });
      return { ...leaf(title, "", undefined, "list-ordered"), children: () => nodes };
    });
}

module.exports = { Tree };
