/** How this action names itself to GitHub: with the id under which GitHub knows the job, where the runner gives it. */
export function userAgent(environment: Readonly<Record<string, string | undefined>>): string {
  const id = (environment.ACTIONS_ORCHESTRATION_ID ?? '').trim().replace(/[^a-z0-9_.-]/gi, '_');
  return id === '' ? 'ralph-action' : `ralph-action actions_orchestration_id/${id}`;
}
