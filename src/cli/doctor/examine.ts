import type { Finding } from '../../core/doctor/finding.ts';
import type { AnsweredSettings } from '../../core/settings/effective.ts';

/** A checkout to examine; `remote`: as given, null: origin. `verify`: whether its verify commands are run as well. */
export interface AskedExamination {
  readonly folder: string;
  readonly remote: string | null;
  readonly verify: boolean;
  readonly log: (line: string) => void;
}

/** `repository`: as `acme/shop`, null: GitHub was not asked. `missing`: there is no checkout, as a sentence. */
type Examination =
  | {
      readonly kind: 'examined';
      readonly repository: string | null;
      readonly findings: readonly Finding[];
      readonly settings: readonly AnsweredSettings[];
    }
  | { readonly kind: 'missing'; readonly why: string };

/** Looks at a checkout, at this machine and at GitHub, and changes nothing. */
export type Examine = (asked: AskedExamination) => Promise<Examination>;
