import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../integration/agents/agent-fixture.ts';

/** Writes files inside and outside of the work folder and a skill, and returns a prompt that mentions them. */
export function mentions({ workFolder, home }: Pick<Machine, 'workFolder' | 'home'>): string {
  for (const folder of [workFolder, home]) writeFileSync(join(folder, 'inner.txt'), 'MENTIONED');
  for (const folder of ['.agents', '.claude', '.codex', '.opencode', '.qwen', '.gemini', '.github']) {
    const skill = join(workFolder, folder, 'skills', 'greet');
    mkdirSync(skill, { recursive: true });
    writeFileSync(join(skill, 'SKILL.md'), '---\nname: greet\ndescription: Greets.\n---\nMENTIONED\n');
  }
  return `Look at @inner.txt, "@./inner.txt" and\n@${home}/inner.txt with $greet or /greet.\n/greet\n!cat inner.txt\n!{cat inner.txt} @{inner.txt}`;
}
