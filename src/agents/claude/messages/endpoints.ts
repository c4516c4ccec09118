/** A request that one of a provider's endpoints takes. */
interface Endpoint {
  /** Path and query at the provider, made of checked parts. */
  readonly target: string;
  /** null: the body names it. */
  readonly model: string | null;
  /** Nothing is generated. */
  readonly isFree: boolean;
}

/** How a provider serves the model. */
export interface ModelApi {
  /** null: the agent's CLI does not need it. */
  endpoint(method: string, target: string): Endpoint | null;
  /** The status of a question that is not passed on, and whose answer the CLI can do without; null: it is not such a question. */
  shortAnswer(method: string, target: string): number | null;
}

const MESSAGES = /^(\/v1\/messages(?<count>\/count_tokens)?)(?:\?beta=true)?$/;

/** Anthropic's own, or a gateway's. */
export const messagesApi: ModelApi = {
  endpoint: (method, target) => {
    const match = method === 'POST' ? MESSAGES.exec(target) : null;
    return match === null ? null : { target, model: null, isFree: match.groups?.['count'] !== undefined };
  },
  // Older versions ask whether anybody is there.
  shortAnswer: (method, target) => (method === 'HEAD' && target === '/' ? 200 : null),
};

/** A model's id, or an ARN, whose slashes are encoded. */
const BEDROCK = /^\/model\/(?<model>(?:[\w.:-]|%3A|%2F)+)\/invoke(?:-with-response-stream)?$/i;

/** Amazon Bedrock's runtime. */
export const bedrockApi: ModelApi = {
  endpoint: (method, target) => {
    const model = method === 'POST' ? BEDROCK.exec(target)?.groups?.['model'] : undefined;
    return model === undefined || model.includes('..')
      ? null
      : { target, model: model.replace(/%3A/gi, ':').replace(/%2F/gi, '/'), isFree: false };
  },
  // The list of profiles is at another address; without it the CLI takes its own names.
  shortAnswer: (method, target) => (method === 'GET' && /^\/inference-profiles(?:\?|$)/.test(target) ? 404 : null),
};

const VERTEX = /^(?<model>[\w.@-]+):(?:streamR|r)awPredict$/;

/** Google Vertex AI. `models`: path of the models of one project in one place. */
export function vertexApi(models: string): ModelApi {
  return {
    endpoint: (method, target) => {
      const isThere = method === 'POST' && target.startsWith(models);
      const model = isThere ? VERTEX.exec(target.slice(models.length))?.groups?.['model'] : undefined;
      if (model === undefined) return null;
      return model === 'count-tokens' ? { target, model: null, isFree: true } : { target, model, isFree: false };
    },
    shortAnswer: () => null,
  };
}
