import type { Language } from './stack.ts';

/** .NET, Haskell and Dart, which are detected after the other languages. */
export const compiledLanguages: readonly Language[] = [
  {
    by: ['*.sln', '*.slnx', '*.csproj', '*.fsproj'],
    tool: 'dotnet',
    language: ['*.fsproj ? F#', 'C#'],
    facts: { version: /<TargetFrameworks?>[^<]*net(\d{1,2}\.\d)/ },
    words: {
      pinned: 'global.json ? {at}global.json',
      version: ["@version ? '$1.x'", "~dotnet-version ? '$1'", "'10.0.x'"],
    },
    build: 'dotnet build',
    test: 'dotnet test',
    lint: 'dotnet format --verify-no-changes',
    setup: { 'actions/setup-dotnet@v5': { 'global-json-file': '{pinned}', 'dotnet-version': '!{pinned} ? {version}' } },
    // A project with a .gitignore already ignores these, under one of many patterns, so they are added only to a new
    // one.
    leaves: ['!.gitignore ? bin/', '!.gitignore ? obj/'],
  },
  {
    by: ['stack.yaml', 'cabal.project', '*.cabal'],
    language: 'Haskell',
    words: { version: "~ghc-version ? '$1'" },
    tools: [
      {
        when: 'stack.yaml & !cabal.project',
        tool: 'stack',
        build: 'stack build',
        test: 'stack test',
        setup: { 'haskell-actions/setup@v2': { 'enable-stack': 'true', 'stack-no-global': 'true' } },
        leaves: ['.stack-work/'],
      },
      {
        tool: 'cabal',
        install: 'cabal update',
        build: 'cabal build all',
        test: 'cabal test all',
        setup: { 'haskell-actions/setup@v2': { 'ghc-version': '{version}' } },
        leaves: ['dist-newstyle/'],
      },
    ],
  },
  {
    by: ['pubspec.yaml'],
    language: 'Dart',
    facts: { flutter: /^\s+sdk:\s*flutter\s*$/m },
    frameworks: ['@flutter ? Flutter'],
    install: '{tool} pub get',
    test: 'test ? {tool} test',
    lint: '{tool} analyze',
    leaves: ['.dart_tool/', '!pubspec.lock ? pubspec.lock', '@flutter ? build/'],
    tools: [
      { when: '@flutter', tool: 'flutter', setup: { 'subosito/flutter-action@v2': { channel: 'stable' } } },
      { tool: 'dart', setup: { 'dart-lang/setup-dart@v1': {} } },
    ],
  },
];
