/** What CLIs put before the prompt on their own account; null: the turn has nothing but that. */
export function promptIn(turn: string): string | null {
  const prompt = turn.replace(PREFACE, '').trim();
  return prompt === '' ? null : prompt;
}

/** Codex, Gemini CLI, Copilot CLI and Qwen Code, in this order. */
const PREFACE =
  /^(?:\s*(?:<(environment_context|user_instructions|session_context|current_datetime|system-reminder)>[\s\S]*?<\/\1>|# AGENTS\.md instructions [\s\S]*?<\/INSTRUCTIONS>))+/;
