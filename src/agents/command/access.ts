import type { AccessOf } from '../cli/access.ts';

/** What it needs to reach a model, the user passes by `agent-env`. */
export const accessOf: AccessOf = (environment) => ({ kind: 'direct', environment });
