import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { kindOfDenialBy } from '../../../src/agents/rules/shell-rules.ts';
import type { AgentName } from '../../../src/core/agent-names.ts';
import type { Analysis } from '../../../src/core/analysis/analysis.ts';
import type { AgentEnd } from '../../../src/core/evidence.ts';
import type { Agent, AgentCall, AgentRun } from '../../../src/ports/agent.ts';
import type { WorkBeside } from '../../../src/ports/repository.ts';
import { analysis, MINUTE } from '../../unit/core/core-fixtures.ts';
import type { Checkout, FakeClock } from './in-memory.ts';

const kindOfDenial = kindOfDenialBy('claude');

/** The agent's actions in one call. */
interface Act {
  /** Written content by path. */
  readonly writes?: Readonly<Record<string, string>>;
  /** All work beside the work tree after the call. */
  readonly beside?: readonly WorkBeside[];
  /** Files that it writes where git ignores them. */
  readonly ignored?: readonly string[];
  readonly output?: Parameters<typeof analysis>[0];
  readonly minutes?: number;
  readonly exitCode?: number;
  /** Set if the CLI only retried until it was ended. */
  readonly stalled?: boolean;
  readonly chars?: number;
  /** Its final message. */
  readonly words?: string;
  readonly fencedBlock?: boolean;
  /** The MCP servers whose tools it does not get. */
  readonly failedServers?: readonly string[];
  /** The cost of its requests while it works, in US dollars. */
  readonly spendsUsd?: number;
  /** Called while the agent works; it may cancel the run, for example. */
  readonly meanwhile?: () => void;
}

/**
 * The agent's part in one call; `task` is the id in its prompt, `turn` counts all calls of the project, `files` are
 * those of the work tree.
 */
export type Behaviour = (call: {
  readonly task: string;
  readonly turn: number;
  readonly resume: string | null;
  readonly files: Readonly<Record<string, string>>;
}) => Act;

const working = { status: 'IN_PROGRESS', exitSignal: false, tasksCompleted: 0 } as const;
const finished = { status: 'COMPLETE', exitSignal: false, tasksCompleted: 1, filesModified: 1 } as const;

/** Changes something in each call, and never finishes. */
export const steadyWorker: Behaviour = ({ task, turn }) => ({
  writes: { [`src/${task}.ts`]: `step ${String(turn)}` },
  output: { signal: working },
});
/** Finishes its task in one call. */
export const finisher: Behaviour = ({ task, turn }) => ({
  writes: { [`src/${task}.ts`]: `done ${String(turn)}` },
  output: { signal: finished },
});
/** Finishes its task, and claims each time that everything is done. */
export const boaster: Behaviour = ({ task, turn }) => ({
  writes: { [`src/${task}.ts`]: `done ${String(turn)}` },
  output: { signal: { ...finished, exitSignal: true } },
});
/** Claims everything and changes nothing. */
export const liar: Behaviour = () => ({ output: { signal: { ...finished, exitSignal: true } } });
export const stuck: Behaviour = () => ({ output: { signal: working } });
export const asker: Behaviour = () => ({ output: { question: true } });
export const denied: Behaviour = () => ({
  output: { signal: working, denials: [{ tool: 'Bash', command: 'docker ps' }] },
});
export const crashing: Behaviour = () => ({
  exitCode: 1,
  chars: 0,
  output: { sessionId: null, tokens: null, costUsd: null },
});
/** Works, but never reports it. */
export const silent: Behaviour = ({ task, turn }) => ({ writes: { [`src/${task}.ts`]: `step ${String(turn)}` } });
/** Never ends by itself. */
export const endless: Behaviour = () => ({ minutes: Infinity, chars: 0 });
export const claimsBlocked: Behaviour = () => ({ output: { signal: { status: 'BLOCKED', exitSignal: false } } });
/** Fails because its CLI has lost the session; without a session it works steadily. */
export const forgetful: Behaviour = (call) =>
  call.resume === null ? steadyWorker(call) : { minutes: 0, exitCode: 1, chars: 0, output: unknownSession };
export function usageLimited(resumeAt: number): Behaviour {
  return () => ({
    exitCode: 1,
    output: {
      agentError: { kind: 'rate-limit', text: 'You have hit your limit' },
      usageLimit: { window: 'five-hour', resumeAt: new Date(resumeAt).toISOString() },
    },
  });
}

const unknownSession: Act['output'] = {
  agentError: { kind: 'unknown-session', text: 'No conversation found with session ID' },
  sessionId: null,
  tokens: null,
  costUsd: null,
};

/** The data that the agent shares on all machines of a project: the script and the received calls. */
export interface AgentScript {
  /** One behaviour per call of a run; the last one repeats. */
  behaviours: readonly Behaviour[];
  readonly calls: (AgentCall & { readonly isLaid: boolean; readonly at: number })[];
  /** The key with which the agent logs in, or null if none. */
  key: string | null;
  /** The reason why the CLI cannot be started, or null if it can. */
  broken: Error | null;
  /** Number of installations. */
  prepared: number;
}

export function createScript(behaviours: readonly Behaviour[]): AgentScript {
  return { behaviours, calls: [], key: 'sk-of-the-stage', broken: null, prepared: 0 };
}

/** Creates the agent on a new machine; it knows only sessions that it began there or that were imported. */
export function createAgent(
  script: AgentScript,
  { name, checkout, clock }: { readonly name: AgentName; readonly checkout: Checkout; readonly clock: FakeClock },
): Agent {
  const transcripts = new Set<string>();
  let made = 0;
  return {
    prepare: () => {
      script.prepared += 1;
      return Promise.resolve({ name: name === 'claude' ? 'Fake Agent' : name, version: '1.0.0' });
    },
    call: (call) => {
      if (script.broken !== null) return Promise.reject(script.broken);
      script.calls.push({ ...call, isLaid: checkout.isLaid(), at: clock.now() });
      const behaviour = script.behaviours[Math.min(made, script.behaviours.length - 1)];
      made += 1;
      const known = call.resume === null || transcripts.has(call.resume);
      const act = known
        ? (behaviour?.({
            task: /^# (?:Your task|The task of the iteration): (\S+)$/m.exec(call.prompt)?.[1] ?? '',
            turn: script.calls.length,
            resume: call.resume,
            files: checkout.files,
          }) ?? {})
        : { minutes: 0, exitCode: 1, output: unknownSession };
      return perform(act, call);
    },
    kindOfDenial,
    coAuthor: name === 'claude' ? 'Claude <noreply@anthropic.com>' : `${name} <${name}@example.com>`,
    exportSession: (id) => Promise.resolve(transcripts.has(id) ? Buffer.from(`transcript of ${id}`) : null),
    importSession: (id, transcript) => {
      if (Buffer.from(transcript).toString() === `transcript of ${id}`) transcripts.add(id);
      return Promise.resolve(transcripts.has(id));
    },
    sweep: () => Promise.resolve(),
  };

  async function perform(act: Act, call: AgentCall): Promise<AgentRun> {
    const durationMs = Math.min((act.minutes ?? 1) * MINUTE, call.timeoutMs);
    const timedOut = (act.minutes ?? 1) * MINUTE > call.timeoutMs;
    clock.advance(durationMs);
    if (act.spendsUsd !== undefined) {
      call.spending?.({ tokens: 1_000, outputTokens: 100, costUsd: act.spendsUsd });
      // A call continues after a request, so this usage is written down while it runs.
      await turnOfLoop();
    }
    act.meanwhile?.();
    Object.assign(checkout.files, act.writes);
    checkout.beside = [...(act.beside ?? checkout.beside)];
    checkout.ignored = [...new Set([...checkout.ignored, ...(act.ignored ?? [])])];
    const sessionId = call.resume ?? `${name === 'claude' ? '' : `${name}-`}session-${String(script.calls.length)}`;
    const analyzed: Analysis = analysis({ sessionId, ...(timedOut ? { sessionId: null } : act.output) });
    if (analyzed.sessionId !== null) transcripts.add(analyzed.sessionId);
    return {
      analysis: analyzed,
      end: endOf(),
      finalMessage: act.words ?? '',
      outputChars: act.chars ?? 500,
      fencedBlock: act.fencedBlock ?? false,
      failedServers: act.failedServers ?? [],
      durationMs,
    };

    function endOf(): AgentEnd {
      if (call.signal.aborted) return { kind: 'cancelled' };
      if (act.stalled === true) return { kind: 'stalled' };
      return timedOut ? { kind: 'timeout', of: call.timeoutOf } : { kind: 'exited', code: act.exitCode ?? 0 };
    }
  }
}
