import type { Intent } from '../gate/event/intent.ts';
import { trusts } from '../gate/people/trust.ts';
import type { Config } from '../config/config.ts';
import type { Account, Forge } from '../ports/forge.ts';
import type { PublishDeps } from '../publish/deps.ts';

/** Who asked for the run by name, and where. */
export function requesterOf(intent: Intent): PublishDeps['asked'] {
  const person = ({ kind, login }: Account): string | null => (kind === 'user' ? login : null);
  switch (intent.kind) {
    case 'work-issue':
      return { by: person(intent.actor), thread: intent.issue };
    case 'command':
      return { by: person(intent.actor), thread: intent.thread.number };
    case 'answer':
      return { by: intent.actor === null ? null : person(intent.actor), thread: intent.pullRequest.number };
    case 'work-queue':
    case 'dispatched-command':
      return { by: intent.actor, thread: null };
    default:
      return { by: null, thread: null };
  }
}

/** Whether the event asks for work or an answer, on behalf of somebody who may: a run that failed before the gate has not looked. */
export async function isAskedFor(
  run: { readonly config: Pick<Config, 'allowedBots' | 'branchPrefix'>; readonly forge: Forge },
  intent: Intent,
): Promise<boolean> {
  switch (intent.kind) {
    case 'work-queue':
    case 'dispatched-command':
      return true;
    case 'work-issue':
    case 'command':
      return trusts(run, intent.actor);
    case 'answer':
      // Without a usable prefix every branch looks like one of Ralph's.
      return run.config.branchPrefix !== '' && (intent.actor === null || trusts(run, intent.actor));
    default:
      return false;
  }
}
