import type { AgentError } from '../../core/analysis/analysis.ts';

/** What an HTTP status of a model's provider amounts to; null where it says too little. */
export function kindOfStatus(status: number | null): AgentError['kind'] | null {
  if (status === null) return null;
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'billing';
  if (status === 404) return 'model';
  if (status === 413) return 'prompt-too-long';
  if (status === 429) return 'rate-limit';
  return status >= 500 ? 'server' : null;
}
