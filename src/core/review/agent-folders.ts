/** Folders and files that agents and editors write in passing, for themselves. */
const OWN =
  /(?:^|\/)(?:\.(?:claude|codex|gemini|qwen|copilot|cursor|opencode|aider|continue|kiro|junie|windsurf|vscode|idea|zed|fleet)(?:\/|$)|\.mcp\.json$|\.aider)/i;

/** True for settings that an agent or an editor leaves for itself, which no task is likely to be about. */
export function isAgentFolder(path: string): boolean {
  return OWN.test(path);
}
