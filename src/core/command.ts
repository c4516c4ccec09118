import { nearest } from './nearest.ts';
import type { OrderKind } from './orders.ts';

/** The commands, in the words in which they are given, and what each does. */
export const COMMANDS = {
  run: 'work on this issue now (on a pull request: on its lane)',
  status: 'say how the lane stands; makes no agent call',
  pause: 'let no run of this lane work until `resume`; a run that works now goes on to its end',
  resume: 'end the pause',
  'reset circuit': 'close the circuit, whatever opened it',
  'reset session': "begin the agent's conversation anew",
  help: 'list these commands',
} as const;

export type CommandWords = keyof typeof COMMANDS;

/** What a person asks for. */
export type Command =
  | { readonly kind: 'run' }
  | { readonly kind: 'status' }
  | { readonly kind: 'order'; readonly order: OrderKind }
  | { readonly kind: 'help' }
  | { readonly kind: 'unknown'; readonly word: string };

const known: Readonly<Record<CommandWords, Command>> = {
  run: { kind: 'run' },
  status: { kind: 'status' },
  pause: { kind: 'order', order: 'pause' },
  resume: { kind: 'order', order: 'resume' },
  'reset circuit': { kind: 'order', order: 'reset-circuit' },
  'reset session': { kind: 'order', order: 'reset-session' },
  help: { kind: 'help' },
};

/** Reads a command's words; what is none comes back cut to 40 characters. */
export function readCommand(text: string): Command {
  const words = text.trim().toLowerCase().split(/\s+/).join(' ');
  return isCommand(words) ? known[words] : { kind: 'unknown', word: text.trim().slice(0, 40) };
}

/** The command that `word` was most likely meant to be; null when none is near. */
export function nearestCommand(word: string): CommandWords | null {
  return nearest(word, Object.keys(COMMANDS) as CommandWords[]);
}

function isCommand(words: string): words is CommandWords {
  return Object.hasOwn(known, words);
}
