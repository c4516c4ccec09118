import { createKindOfDenial } from '../../rules/shell-rules.ts';

/** What a refused call amounts to under the CLI's allow rules. */
export const kindOfDenial = createKindOfDenial({ shell: ['Bash'], question: 'AskUserQuestion' });
