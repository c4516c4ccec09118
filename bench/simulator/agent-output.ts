import type { Signal } from '../../src/core/analysis/analysis.ts';

/** The output of an agent's CLI in one call. */
export type AgentOutput =
  | ({ readonly kind: 'block' } & Claims & Words)
  | ({ readonly kind: 'prose' } & Words)
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'silence' }
  | { readonly kind: 'usage-limit'; readonly resumeAt: number }
  | { readonly kind: 'overloaded' }
  | { readonly kind: 'unavailable' };

/** The fields of a status block that decisions depend on. */
export interface Claims {
  readonly status: NonNullable<Signal['status']>;
  readonly exit: boolean;
  readonly tasks: number;
  readonly files: number;
  readonly tests: NonNullable<Signal['testsStatus']>;
  readonly work: NonNullable<Signal['workType']>;
  /** The block's QUESTION, or null if it has none. */
  readonly asks: string | null;
}

interface Words {
  readonly text: string;
  /** Approximate length in characters to which the text is padded with prose. */
  readonly chars: number;
  /** The refused commands. */
  readonly denied: readonly string[];
}

/** Returns the bytes that Claude Code prints for this output with `--output-format stream-json`. */
export function print(output: AgentOutput, session: string): Uint8Array {
  switch (output.kind) {
    case 'silence':
      return new Uint8Array();
    case 'bytes':
      return output.bytes;
    case 'prose':
      return lines([init(session), result(session, { result: filled(output), permission_denials: denials(output) })]);
    case 'block':
      return lines([
        init(session),
        result(session, { result: `${filled(output)}\n\n${block(output)}`, permission_denials: denials(output) }),
      ]);
    case 'usage-limit':
      return lines([
        init(session),
        {
          type: 'rate_limit_event',
          rate_limit_info: {
            status: 'rejected',
            resetsAt: Math.round(output.resumeAt / 1000),
            rateLimitType: 'five_hour',
          },
          session_id: session,
        },
        result(session, {
          is_error: true,
          api_error_status: 429,
          terminal_reason: 'api_error',
          result: "You've hit your session limit",
          total_cost_usd: 0,
        }),
      ]);
    case 'overloaded':
      return lines([
        init(session),
        result(session, {
          is_error: true,
          api_error_status: 529,
          terminal_reason: 'api_error',
          result: 'API Error: Repeated 529 Overloaded errors.',
          total_cost_usd: 0,
        }),
      ]);
    case 'unavailable':
      return lines([
        init(session),
        result(session, {
          is_error: true,
          api_error_status: 500,
          terminal_reason: 'api_error',
          result: 'API Error: 500 Internal server error.',
          total_cost_usd: 0,
        }),
      ]);
  }
}

function init(session: string): object {
  return { type: 'system', subtype: 'init', session_id: session };
}

function result(session: string, change: object): object {
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    num_turns: 4,
    session_id: session,
    total_cost_usd: 0.05,
    usage: { input_tokens: 900, output_tokens: 100 },
    permission_denials: [],
    ...change,
  };
}

function denials({ denied }: Words): readonly object[] {
  return denied.map((command) => ({ tool_name: 'Bash', tool_use_id: 'toolu_1', tool_input: { command } }));
}

function block(claims: Claims): string {
  return [
    '---RALPH_STATUS---',
    `STATUS: ${claims.status}`,
    `TASKS_COMPLETED_THIS_LOOP: ${String(claims.tasks)}`,
    `FILES_MODIFIED: ${String(claims.files)}`,
    `TESTS_STATUS: ${claims.tests}`,
    `WORK_TYPE: ${claims.work}`,
    `EXIT_SIGNAL: ${String(claims.exit)}`,
    'RECOMMENDATION: continue',
    ...(claims.asks === null ? [] : [`QUESTION: ${claims.asks}`]),
    '---END_RALPH_STATUS---',
  ].join('\n');
}

const FILLER = 'I looked at the code and at its callers. ';

function filled({ text, chars }: Words): string {
  return FILLER.repeat(Math.max(0, Math.ceil((chars - text.length) / FILLER.length))) + text;
}

function lines(events: readonly object[]): Uint8Array {
  return new TextEncoder().encode(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}
