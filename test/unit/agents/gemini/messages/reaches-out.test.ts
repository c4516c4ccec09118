import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findGeminiProviderAction } from '../../../../../src/agents/gemini/messages/protocol.ts';
import { runs } from '../../../../runs.ts';

type Fields = Readonly<Record<string, unknown>>;

const said = (...parts: readonly unknown[]) => ({ contents: [{ role: 'user', parts }] });
const depth = (levels: number): Fields => said({ functionCall: { name: 'f', args: { x: listsIn(levels) } } });
const listsIn = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('passes', () => {
  test.each<[string, Fields]>([
    ['nothing', {}],
    ['a conversation', said({ text: 'hello' }, { text: 'x', thought: true, thoughtSignature: 'AA==' })],
    ['a picture', said({ inlineData: { mimeType: 'image/png', data: 'AA==' }, mediaResolution: {} })],
    ['one content, and one part, without a list', { contents: { role: 'user', parts: { text: 'hello' } } }],
    [
      "a function's call and answer, whatever is in them",
      said(
        { functionCall: { id: '1', name: 'f', args: { fileData: { fileUri: 'x' }, cachedContent: 'x' } } },
        { functionResponse: { id: '1', name: 'f', response: { file_data: { file_uri: 'x' }, tools: [] } } },
        { functionResponse: { name: 'f', response: {}, parts: [{ inlineData: { data: 'AA==' } }] } },
      ),
    ],
    [
      'functions, whatever their parameters are called',
      { tools: [{ functionDeclarations: [{ name: 'urlContext', parameters: { properties: { googleSearch: {} } } }] }] },
    ],
    [
      'the other names of the same fields',
      {
        system_instruction: { parts: [{ text: 'x' }] },
        tools: [{ function_declarations: [] }],
        tool_config: { function_calling_config: { mode: 'AUTO' } },
        generation_config: { max_output_tokens: 5 },
        safety_settings: [],
        contents: [{ parts: [{ inline_data: {}, thought_signature: 'x' }, { function_response: { parts: [] } }] }],
      },
    ],
    ['what is null, and so is not there', { cachedContent: null, tools: [{ googleSearch: null }] }],
    ['empty lists', { contents: [], tools: [], safetySettings: [] }],
    ['what nests as deep as Google reads', depth(90)],
  ])('%s', (_what, body) => {
    expect(findGeminiProviderAction(body, false)).toBeNull();
  });
});

const TOOLS = [
  'googleSearch',
  'googleSearchRetrieval',
  'enterpriseWebSearch',
  'googleMaps',
  'urlContext',
  'codeExecution',
  'computerUse',
  'fileSearch',
  'retrieval',
  'mcpServers',
  'aToolOfNextYear',
];
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

describe('is refused', () => {
  test.each(TOOLS.flatMap((name) => [name, snake(name)]))('the tool %s', (name) => {
    const why = `the tool "${name}" of the provider's servers`;
    expect(findGeminiProviderAction({ tools: [{ [name]: {} }] }, false)).toBe(why);
    expect(findGeminiProviderAction({ tools: { [name]: {} } }, false)).toBe(why);
    expect(findGeminiProviderAction({ tools: [{ functionDeclarations: [] }, { [name]: {} }] }, false)).toBe(why);
    expect(findGeminiProviderAction({ tools: [{ functionDeclarations: [], [name]: {} }] }, false)).toBe(why);
    expect(findGeminiProviderAction({ tools: [{ [name]: [] }] }, true) === null).toBe(/^google_?search$/i.test(name));
  });

  test.each<[string, Fields, RegExp]>([
    ['kept content', { cachedContent: 'cachedContents/x' }, /"cachedContent"/],
    ['kept content by its other name', { cached_content: 'cachedContents/x' }, /"cached_content"/],
    ['another model in the body', { model: 'models/gemini-3-pro' }, /"model"/],
    ['a request in the request', { generateContentRequest: { cachedContent: 'x' } }, /"generateContentRequest"/],
    ['a dearer service', { serviceTier: 'priority' }, /"serviceTier"/],
    ['a name that only looks like a known one', { Contents: [] }, /"Contents"/],
    ['a name of every object', JSON.parse('{"__proto__":{"a":1}}') as Fields, /"__proto__"/],
    ['a very long name', { ['x'.repeat(500)]: 1 }, /^"x{59} in a request$/],
    ['a file by address', said({ fileData: { fileUri: 'https://evil.example' } }), /"fileData"/],
    ['a file by its other name', said({ file_data: { file_uri: 'gs://b/k' } }), /"file_data"/],
    ['a file behind a text', said({ text: 'x' }, { text: 'x', fileData: {} }), /"fileData"/],
    ['a file in one part without a list', { contents: { parts: { fileData: {} } } }, /"fileData"/],
    ['a file in the system instruction', { systemInstruction: { parts: [{ fileData: {} }] } }, /"fileData"/],
    ['a file in it by its other name', { system_instruction: { parts: [{ file_data: {} }] } }, /"file_data"/],
    [
      "a file in a function's answer",
      said({ functionResponse: { name: 'f', response: {}, parts: [{ fileData: {} }] } }),
      /"fileData"/,
    ],
    ['code to run', said({ executableCode: { code: 'x' } }), /"executableCode"/],
    ['a call of a tool there', said({ toolCall: {} }), /"toolCall"/],
    ['lists in lists', { contents: [[{ parts: [] }]] }, /content in an unknown form/],
    ['parts in a list in a list', { contents: [{ parts: [[{ fileData: {} }]] }] }, /a part in an unknown form/],
    ['content that is a text', { contents: 'files/x' }, /content in an unknown form/],
    ['a system instruction that is a text', { systemInstruction: 'x' }, /a system instruction in an unknown form/],
    ['tools that are a text', { tools: 'googleSearch' }, /tools in an unknown form/],
    ['no tool', { tools: [null] }, /tools in an unknown form/],
    ["a function's answer that is a list of texts", said({ functionResponse: ['x'] }), /answer in an unknown form/],
    ['what nests deeper', depth(100), /too deep/],
    ['what would break a writer that rewrites it', depth(200_000), /too deep/],
  ])('%s', (_what, body, why) => {
    expect(findGeminiProviderAction(body, true)).toMatch(why);
  });
});

/** Parts as the CLI sends them, with arbitrary JSON in place of text and of its own data. */
const ownPart = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ functionCall: fc.record({ name: fc.string(), args: fc.jsonValue({ maxDepth: 5 }) }) }),
  fc.record({ functionResponse: fc.record({ name: fc.string(), response: fc.jsonValue({ maxDepth: 5 }) }) }),
);

test('no field is a field by chance: what reaches out is found between any parts of the CLI', () => {
  fc.assert(
    fc.property(
      fc.array(ownPart),
      fc.array(ownPart),
      fc.constantFrom('fileData', 'file_data', 'executable_code', 'x'),
      fc.anything({ values: [fc.integer(), fc.string(), fc.constant({ fileUri: 'https://evil.example' })] }),
      (before, after, name, value) => {
        expect(findGeminiProviderAction(said(...before, ...after), false)).toBeNull();
        const isThere = value !== null && value !== undefined;
        const found = findGeminiProviderAction(said(...before, { [name]: value }, ...after), false);
        expect(found === null).toBe(!isThere);
      },
    ),
    { numRuns: runs(400) },
  );
});
