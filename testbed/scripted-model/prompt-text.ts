/** Removes the text that CLIs put before the prompt; returns null if the turn contains nothing else. */
export function extractPrompt(turn: string): string | null {
  const prompt = turn.replace(PREFACE, '').trim();
  return prompt === '' ? null : prompt;
}

/** Prefaces of Codex, Gemini CLI, Copilot CLI and Qwen Code, in this order. */
const PREFACE =
  /^(?:\s*(?:<(environment_context|user_instructions|session_context|current_datetime|system-reminder)>[\s\S]*?<\/\1>|# AGENTS\.md instructions [\s\S]*?<\/INSTRUCTIONS>))+/;
