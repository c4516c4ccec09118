import { kindOfDenialBy, type MappedRules } from '../rules/shell-rules.ts';
import type { AgentCli, CallListener, CallReader } from '../cli/cli.ts';
import type { Transcript } from '../../core/analysis/analysis.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import { createOutputTail } from '../../processes/output-tail.ts';
import { readClock } from '../reading/capped-bytes.ts';
import {
  classifyFailure,
  findFailureInAnswer,
  findLastFailure,
  findResetTime,
  findUsageLimit,
} from '../reading/failure.ts';
import { commandAgent } from './agent.ts';

/** Maximum number of bytes of output that are kept, from its end, where the status block is. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
const MAX_COMPLAINT_BYTES = 4 * 1024;

/** The CLI of any program: it reads the prompt on stdin and prints its answer. */
export const commandCli: AgentCli = {
  ...commandAgent,
  usesConfigFolder: false,
  // `agent-env` supplies the variables with which the program reaches a model.
  accessOf: (environment) => ({ kind: 'direct', environment }),
  printedVersion: /^(?!)/,
  printsRetries: false,
  kindOfDenial: kindOfDenialBy('command'),
  sessions: {
    export: () => Promise.resolve({ kind: 'left-behind', why: 'your own command has no conversation to continue' }),
    import: () => Promise.resolve(false),
  },
  rulesGap: rulesOfAnyProgram,
  unmappedServers: (servers) =>
    servers.map(
      ({ name }) => `The MCP server ${name} is left out: your own command must connect to its servers by itself.`,
    ),
  prepare: ({ extraArgs, environment }) =>
    Promise.resolve({
      args: extraArgs,
      environment,
      files: {},
      openReader: openPlainReader,
      complete: (transcript) => Promise.resolve(transcript),
    }),
  judgeStall: ({ text }) => ({ agentError: { kind: 'server', text }, usageLimit: null }),
};

function openPlainReader({ hear, now }: CallListener): CallReader {
  const [message, complaint] = [createOutputTail(MAX_MESSAGE_BYTES), createOutputTail(MAX_COMPLAINT_BYTES)];
  return {
    push: (chunk) => {
      message.push(Buffer.from(chunk));
      hear({ kind: 'work', line: '' });
    },
    pushError: (chunk) => {
      complaint.push(Buffer.from(chunk));
    },
    end: ({ succeeded, hasExited }) => {
      const said = { message: message.text().trim(), complaint: succeeded ? null : complaint.text() };
      // The last words of a program that was ended from outside do not say why it ended.
      return transcriptOf(said, succeeded || hasExited ? findProviderFailure(said, readClock(now)) : null);
    },
    conversation: null,
  };
}

/** The output of a program: its answer, and its output on stderr, which is null if it succeeded. */
interface PlainOutput {
  readonly message: string;
  readonly complaint: string | null;
}

type ProviderFailure = Pick<Transcript, 'agentError' | 'usageLimit'>;

function transcriptOf({ message, complaint }: PlainOutput, known: ProviderFailure | null): Transcript {
  const words = toOneLine(complaint ?? '', 500);
  return {
    format: 'text',
    finalMessage: message,
    finished: message !== '',
    agentError:
      known?.agentError ??
      (complaint !== null
        ? { kind: 'other', text: `The command failed${words === '' ? '.' : `: ${words}`}` }
        : message === ''
          ? { kind: 'other', text: 'The command ended without any output.' }
          : null),
    usageLimit: known?.usageLimit ?? null,
    denials: [],
    askedPerson: false,
    sessionId: null,
    turns: null,
    tokens: null,
    costUsd: null,
  };
}

/**
 * Returns the provider's failure that ended the program, or null. It is the whole output of a program that succeeded,
 * or the last error of one that failed. A refused login or missing credit counts only if the program printed no answer,
 * because the last error may come from a test of the project.
 */
function findProviderFailure({ message, complaint }: PlainOutput, now: number): ProviderFailure | null {
  const text =
    complaint === null ? findFailureInAnswer(message) : (findLastFailure(complaint) ?? findLastFailure(message));
  if (text === null) return null;
  const failure = { text, status: null, at: null };
  const agentError = classifyFailure(failure, { reported: [] });
  const errors = complaint?.trim() ?? '';
  // Without an answer, the message is the output on stderr.
  const isSilent = (errors !== '' && message.endsWith(errors)) || findLastFailure(message)?.length === message.length;
  const known = isSilent ? ['rate-limit', 'server', 'auth', 'billing'] : ['rate-limit', 'server'];
  return known.includes(agentError.kind)
    ? { agentError, usageLimit: findUsageLimit(failure, agentError.kind, findResetTime(failure, now)) }
    : null;
}

/**
 * Returns no rules, because a program that only takes a prompt cannot be given any; a plain `Bash` allows everything
 * that it can do.
 */
export function rulesOfAnyProgram(rules: readonly string[]): MappedRules<null> {
  return rules.some((rule) => rule.trim() === 'Bash')
    ? { own: null, unmapped: [], allowsMore: null }
    : { own: null, unmapped: rules, allowsMore: 'do everything that its process can' };
}
