import fc from 'fast-check';
import { IS_DEEP } from './runs.ts';

// Random seeds look for unknown failures only in deep runs, where they can be investigated; they must not fail an
// unrelated change.
if (!IS_DEEP) fc.configureGlobal({ seed: 1 });
