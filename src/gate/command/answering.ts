import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import { endIntake, type GateResult, type Intake, onOneLane } from '../../handover/intake.ts';

/** Makes sure that the person who asked in the thread gets an answer, also when `ask` fails. */
export async function ensureAnswer(
  deps: Pick<GateDeps, 'runTag'>,
  thread: number,
  ask: () => Promise<GateResult>,
): Promise<GateResult> {
  try {
    const result = await ask();
    const { intake } = result;
    return intake.kind === 'end' && intake.answer === null
      ? { ...result, intake: { ...intake, answer: { thread, text: { kind: 'status', receipt: null } } } }
      : result;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return onOneLane(deps, {
      ...endIntake({ kind: 'failed', reason: error.kind, message: error.message }),
      answer: { thread, text: { kind: 'refusal', why: error.message } },
    });
  }
}

/** Ends a run whose request makes no sense in its thread, with an answer that gives the reason. */
export function refuseCommand({ log }: Pick<GateDeps, 'log'>, thread: number, why: string): Intake {
  log.info(why);
  return { ...endIntake({ kind: 'idle', reason: 'answered' }), answer: { thread, text: { kind: 'refusal', why } } };
}
