import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import { endIntake, type Intake } from '../../handover/intake.ts';

/** Makes sure that the person who asked in the thread gets an answer, also when `ask` fails. */
export async function ensureAnswer(thread: number, ask: () => Promise<Intake>): Promise<Intake> {
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

/** Ends a run whose request makes no sense in its thread, with an answer that gives the reason. */
export function refuseCommand({ log }: Pick<GateDeps, 'log'>, thread: number, why: string): Intake {
  log.info(why);
  return { ...endIntake({ kind: 'idle', reason: 'answered' }), answer: { thread, text: { kind: 'refusal', why } } };
}
