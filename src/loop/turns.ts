import type { AgentName } from '../core/agent-names.ts';
import { chooseAgentToCall } from '../core/lane/decide.ts';
import { dropSession, resetUnfitSession, findAgentSession, switchAgent } from '../core/lane/session.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { Policy } from '../core/policy.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import { pickSealedTranscript } from '../handover/conversations.ts';
import type { LoopDeps, OpenedAgent } from './deps.ts';

/**
 * An agent that is ready for a call. `isForgotten` is true if its conversation in the state cannot be continued on this
 * machine.
 */
export interface Turn {
  readonly opened: OpenedAgent;
  readonly isForgotten: boolean;
}

/** Opens each agent when its turn comes, so that an agent that no iteration needs is neither installed nor loaded. */
export interface AgentTurns {
  readonly take: (state: LaneState, name: AgentName) => Promise<Turn>;
}

type TurnDeps = Pick<LoopDeps, 'agents' | 'seal' | 'store' | 'log'>;

/**
 * Creates the turns of a run. A session whose transcript is missing on this machine is dropped before a call is wasted
 * on it.
 */
export function createTurns(deps: TurnDeps): AgentTurns {
  const brought = new Set<AgentName>();
  return {
    take: async (state, name) => {
      const opened = await (deps.agents.find((agent) => agent.name === name) ?? deps.agents[0]).open();
      // Import only at an agent's first turn, because sessions that begin later in this run are already on this
      // machine.
      const session = brought.has(name) ? null : findAgentSession(state, name);
      brought.add(name);
      if (session === null) return { opened, isForgotten: false };
      const obstacle = await importTranscript(deps, { state, name, opened, sessionId: session.id });
      deps.log.info(
        obstacle === null
          ? `session: resumed (${session.id.slice(0, 8)})`
          : `session: ${obstacle}, so a new one starts`,
      );
      return { opened, isForgotten: obstacle !== null };
    },
  };
}

/** Opens the first agent of a run, and drops its session from the state if it cannot continue it. */
export async function openFirstAgent(
  turns: AgentTurns,
  { state, policy, now }: { readonly state: LaneState; readonly policy: Policy; readonly now: number },
): Promise<{ readonly state: LaneState; readonly opened: OpenedAgent }> {
  const name = chooseAgentToCall({ state, policy, now });
  const { opened, isForgotten } = await turns.take(state, name);
  return { opened, state: isForgotten ? dropSession(state, name, 'unknown_session', now) : state };
}

/**
 * Returns the conversation that the next call would continue, without opening its transcript, or null if the call would
 * begin one.
 */
export async function findSessionToResume(
  store: Pick<LoopDeps['store'], 'transcript'>,
  turn: { readonly state: LaneState; readonly taskId: TaskId; readonly policy: Policy; readonly now: number },
): Promise<string | null> {
  const { state, taskId, policy, now } = turn;
  const turned = switchAgent(state, chooseAgentToCall({ state, policy, now }), 'by_order', now);
  const { lane, transcript, session } = resetUnfitSession(turned, taskId, policy, now);
  if (session === null || transcript === null) return null;
  return (await store.transcript(lane, transcript)).kind === 'found' ? session.id : null;
}

/**
 * Imports the stored transcript, so that the agent can continue the session. Returns the reason why that is impossible,
 * in words, or null on success.
 */
async function importTranscript(
  { seal, store }: TurnDeps,
  turn: {
    readonly state: LaneState;
    readonly name: AgentName;
    readonly opened: OpenedAgent;
    readonly sessionId: string;
  },
): Promise<string | null> {
  const { state, name, opened, sessionId } = turn;
  const { lane, transcript: named } = state;
  const { agent } = opened;
  const found = named === null ? ({ kind: 'absent' } as const) : await store.transcript(lane, named);
  if (found.kind === 'unavailable') return `its transcript cannot be read (${found.why})`;
  const sealed = found.kind === 'absent' ? null : pickSealedTranscript(found.transcript.content, name);
  if (sealed === null) return 'its transcript is not here';
  const content = await seal.open(sealed, { lane, sessionId });
  const isHere = content.kind === 'opened' && (await agent.importSession(sessionId, content.content));
  return isHere ? null : "its transcript cannot be decrypted with this run's key";
}
