import type { AccessOf } from '../cli/cli.ts';

/** What it needs to reach a model, the user passes by `agent-env`. */
export const accessOf: AccessOf = (environment) => ({ kind: 'direct', environment });
