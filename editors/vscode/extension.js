// Starts the language server of the installed autocomp, and ends it with the editor.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const [command, ...args] = workspace.getConfiguration("autocomp").get("command");
  client = new LanguageClient("autocomp-isa", "autocomp", { command, args }, { documentSelector: [{ language: "isa" }] });
  return client.start();
};

exports.deactivate = () => client?.stop();
