import type { ModelAnswer, Dialect, ServerEvent } from './exchange.ts';
import type { Conversation, StepError, ToolResult } from './step.ts';
import { extractPrompt } from './prompt-text.ts';
import { findNamedFolder } from './tools.ts';

/** Google's Gemini API. */
export const gemini: Dialect = {
  name: 'gemini',
  path: /:(?:streamGenerateContent|generateContent|countTokens)$/,
  read: (path, given) => {
    if (path.endsWith(':countTokens')) return { body: { totalTokens: 100 } };
    const body: ContentBody = given;
    const tools = (body.tools ?? []).flatMap(({ functionDeclarations = [] }) => functionDeclarations);
    return {
      conversation: conversationOf(body.contents ?? []),
      isSide: tools.length === 0,
      tools: tools.map(({ name }) => ({ name, namespace: null, isText: false })),
      folder: findNamedFolder(JSON.stringify([body.systemInstruction, body.contents])),
      form: path.endsWith(':streamGenerateContent') ? 'events' : 'whole',
      whole: (answer) => chunk(answer, 'STOP'),
      stream: (answer) => ({
        said: piecesOf(answer).map((piece) => unnamed(chunk(piece, null))),
        end: [unnamed(chunk({ text: null, use: null }, 'STOP'))],
      }),
      errorBody: ({ status, ...error }) => errorBody(status, error),
      errorEvents: (error) => [unnamed(errorBody(503, error))],
    };
  },
};

interface ContentBody {
  readonly contents?: readonly Content[];
  readonly systemInstruction?: unknown;
  readonly tools?: readonly { readonly functionDeclarations?: readonly { readonly name: string }[] }[];
}

interface Content {
  readonly role?: string;
  readonly parts?: readonly Part[];
}

interface Part {
  readonly text?: string;
  readonly functionResponse?: { readonly response?: Readonly<Record<string, unknown>> };
}

function conversationOf(contents: readonly Content[]): Conversation {
  const lastPrompt = contents.findLastIndex((content) => promptOf(content) !== null);
  const results = contents.slice(lastPrompt + 1).flatMap(({ parts = [] }) => parts);
  return {
    prompts: contents.map(promptOf).filter((prompt) => prompt !== null),
    results: results.flatMap(({ functionResponse }) =>
      functionResponse === undefined ? [] : [resultOf(functionResponse.response ?? {})],
    ),
  };
}

function promptOf({ role, parts = [] }: Content): string | null {
  if (role !== 'user' || parts.some(({ functionResponse }) => functionResponse !== undefined)) return null;
  return extractPrompt(parts.map(({ text = '' }) => text).join('\n'));
}

function resultOf({ output, error }: Readonly<Record<string, unknown>>): ToolResult {
  const said = error ?? output ?? '';
  const text = typeof said === 'string' ? said : JSON.stringify(said);
  return { text, isError: error !== undefined || /\bexit code: [1-9]/i.test(text) };
}

function errorBody(code: number, { type, message }: StepError): object {
  return { error: { code, message, status: type } };
}

/** Splits an answer: the text comes before the tool call. */
function piecesOf({ text, use }: ModelAnswer): readonly ModelAnswer[] {
  return [...(text === null ? [] : [{ text, use: null }]), ...(use === null ? [] : [{ text: null, use }])];
}

function chunk({ text, use }: ModelAnswer, end: string | null): object {
  const parts = [
    ...(text === null ? [] : [{ text }]),
    ...(use === null ? [] : [{ functionCall: { name: use.tool, args: use.input } }]),
  ];
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(end === null ? {} : { finishReason: end }) }],
    usageMetadata: {
      promptTokenCount: 100,
      cachedContentTokenCount: 10,
      candidatesTokenCount: 50,
      thoughtsTokenCount: 5,
      totalTokenCount: 155,
    },
    modelVersion: 'scripted',
  };
}

function unnamed(data: object): ServerEvent {
  return { name: null, data };
}
