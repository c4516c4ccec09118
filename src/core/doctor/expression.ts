/** Whether a text of a workflow is only known when it runs. */
export function isExpression(text: string): boolean {
  return text.includes('${{');
}

/** Names of the secrets that a text of a workflow reads, in capitals as GitHub keeps them. */
export function secretsIn(text: string): readonly string[] {
  return [...text.matchAll(/\bsecrets\.([A-Za-z_]\w*)|\bsecrets\[\s*'([A-Za-z_]\w*)'\s*\]/g)].map(
    ([, dotted, quoted]) => (dotted ?? quoted ?? '').toUpperCase(),
  );
}
