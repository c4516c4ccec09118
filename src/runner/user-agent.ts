/**
 * Returns the name that this action gives itself in requests to GitHub, with GitHub's id of the job if the runner
 * provides it.
 */
export function formatUserAgent(environment: Readonly<Record<string, string | undefined>>): string {
  const id = (environment.ACTIONS_ORCHESTRATION_ID ?? '').trim().replace(/[^a-z0-9_.-]/gi, '_');
  return id === '' ? 'ralph-action' : `ralph-action actions_orchestration_id/${id}`;
}
