import { setUpLines, setUpResult } from '../../report/sentences/set-up.ts';
import type { Diagnosis } from './doctor-schema.ts';

/** The diagnosis as a person reads it: a line for each check, with its fix below. */
export function renderDiagnosis({ repository, findings }: Diagnosis): string {
  return [
    ...(repository === null ? [] : [repository, '']),
    ...setUpLines(findings.map(({ fix, ...found }) => ({ ...found, cure: fix }))),
    '',
    setUpResult(findings),
    '',
  ].join('\n');
}
