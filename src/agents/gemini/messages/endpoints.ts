/** A request that one of the API's endpoints takes. */
interface Endpoint {
  readonly model: string;
  /** Nothing is generated. */
  readonly isFree: boolean;
  readonly isStream: boolean;
}

const MODEL = /^\/v1(?:beta)?\/models\/(?<model>[A-Za-z0-9][\w.-]{0,99}):(?<method>[A-Za-z]+)(?<stream>\?alt=sse)?$/;

/** null: it is none of those that Gemini CLI needs. */
export function endpointOf(method: string, target: string): Endpoint | null {
  const { model, method: called, stream } = (method === 'POST' ? MODEL.exec(target)?.groups : null) ?? {};
  if (model === undefined || model.includes('..')) return null;
  if (called === 'streamGenerateContent') return { model, isFree: false, isStream: true };
  // An answer that does not stream has no form to choose.
  if (stream !== undefined) return null;
  return called === 'generateContent' || called === 'countTokens'
    ? { model, isFree: called === 'countTokens', isStream: false }
    : null;
}

/** A request for the log: what stands in a query could be a key. */
export function namedRequest(method: string, target: string): string {
  const [path = '', ...query] = target.split('?');
  return `${`${method} ${path}`.slice(0, 80)}${query.length === 0 ? '' : ' with a query'}`;
}
