import { UserError } from '../user-error.ts';
import { endIntake, type Intake } from './intake.ts';

/** Who asked in the thread hears how it stands, whatever came of it. */
export async function answering(thread: number, ask: () => Promise<Intake>): Promise<Intake> {
  try {
    const intake = await ask();
    return intake.kind === 'end' && intake.answer === null ? { ...intake, answer: { thread, text: { kind: 'status', receipt: null } } } : intake;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...endIntake({ kind: 'failed', reason: error.kind, message: error.message }), answer: { thread, text: { kind: 'refusal', why: error.message } } };
  }
}
