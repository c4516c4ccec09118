import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import { endIntake, type GateResult, type Intake, gateResultOfLane, type Receipt } from '../../handover/intake.ts';

/** Makes sure that the person who asked in the thread gets an answer, also when `ask` fails. */
export async function ensureAnswer(
  deps: Pick<GateDeps, 'runTag'>,
  thread: number,
  ask: () => Promise<GateResult>,
): Promise<GateResult> {
  try {
    const result = await ask();
    return { ...result, intake: withReceipt(result.intake, thread, null) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return gateResultOfLane(deps, {
      ...endIntake({ kind: 'failed', reason: error.kind, message: error.message }),
      answer: { thread, text: { kind: 'refusal', why: error.message } },
    });
  }
}

/** Returns the intake; an end without an answer gets the status after the order as its answer. */
export function withReceipt(intake: Intake, thread: number | null, receipt: Receipt | null): Intake {
  return intake.kind === 'end' && intake.answer === null
    ? { ...intake, answer: { thread, text: { kind: 'status', receipt } } }
    : intake;
}

/** Ends a run whose request makes no sense in its thread, with an answer that gives the reason. */
export function refuseCommand({ log }: Pick<GateDeps, 'log'>, thread: number, why: string): Intake {
  log.info(why);
  return { ...endIntake({ kind: 'idle', reason: 'answered' }), answer: { thread, text: { kind: 'refusal', why } } };
}
