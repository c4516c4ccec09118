import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import { endIntake, type Intake } from '../../handover/intake.ts';

/** The person who asked in the thread hears how it stands, whatever came of it. */
export async function answering(thread: number, ask: () => Promise<Intake>): Promise<Intake> {
  try {
    const intake = await ask();
    return intake.kind === 'end' && intake.answer === null
      ? { ...intake, answer: { thread, text: { kind: 'status', receipt: null } } }
      : intake;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return {
      ...endIntake({ kind: 'failed', reason: error.kind, message: error.message }),
      answer: { thread, text: { kind: 'refusal', why: error.message } },
    };
  }
}

/** What was asked in the thread makes no sense there: nothing is done, and the answer says why. */
export function refuse({ log }: Pick<GateDeps, 'log'>, thread: number, why: string): Intake {
  log.info(why);
  return { ...endIntake({ kind: 'idle', reason: 'answered' }), answer: { thread, text: { kind: 'refusal', why } } };
}
