/** A file with many uses, some lines of which decide what is tested. */
interface SettingsFile {
  readonly path: RegExp;
  /** Names of sections all of whose lines do. */
  readonly sections: RegExp | null;
  /** Lines that do wherever they stand. */
  readonly lines: RegExp | null;
}

const FILES: readonly SettingsFile[] = [
  {
    path: /(?:^|\/)pyproject\.toml$/i,
    sections: /^tool\.(?:pytest|coverage|tox|nox|hatch\.envs|poe|taskipy|pdm\.scripts|unittest)\b/,
    lines: null,
  },
  {
    path: /(?:^|\/)setup\.cfg$/i,
    sections: /^(?:tool:pytest|pytest|coverage:.*|aliases|nosetests|testenv.*)$/,
    lines: null,
  },
  { path: /(?:^|\/)Cargo\.toml$/i, sections: /^\[test\]$/, lines: /^\s*(?:test|doctest|harness|autotests)\s*=/ },
  {
    path: /(?:^|\/)pom\.xml$/i,
    sections: null,
    lines:
      /skipTests|skipITs|maven\.test\.skip|testFailureIgnore|surefire|failsafe|<(?:ex|in)cludes?>|<groups>|<excludedGroups>/,
  },
  {
    path: /(?:^|\/)(?:build|settings)\.gradle(?:\.kts)?$/i,
    sections: null,
    lines: /\btests?\b|Tests?\b|ignoreFailures|\bexclude|\binclude|onlyIf|enabled\s*=/,
  },
  { path: /(?:^|\/)gradle\.properties$/i, sections: null, lines: /test|check|verif/i },
  { path: /(?:^|\/)build\.sbt$/i, sections: null, lines: /\btests?\b|Tests?\b|testOptions/ },
  { path: /(?:^|\/)CMakeLists\.txt$/i, sections: null, lines: /add_test|enable_testing|discover_tests|BUILD_TESTING/i },
  { path: /(?:^|\/)(?:composer|deno)\.jsonc?$/i, sections: null, lines: /test|spec|phpunit|check/i },
];

/** Whether some lines of the file may decide what is tested, so that its texts are read. */
export function mayHaveTestSettings(path: string): boolean {
  return FILES.some((file) => file.path.test(path));
}

/** Whether a change touches lines that decide what is tested. Files without such lines: false. */
export function changesTestSettings(path: string, before: string | null, after: string | null): boolean {
  return FILES.some((file) => file.path.test(path) && settingsIn(before ?? '', file) !== settingsIn(after ?? '', file));
}

function settingsIn(text: string, { sections, lines }: SettingsFile): string {
  let within = '';
  const kept = text.split('\n').filter((line) => {
    const section = HEADER.exec(line)?.[1];
    if (section !== undefined) within = bare(section);
    // `pytest.ini_options.addopts = …` below [tool], or with all of its names at the beginning of the file.
    const key = section === undefined ? bare(KEY.exec(line)?.[1] ?? '') : '';
    const isOfSection = [within, key, `${within}.${key}`].some((name) => name !== '' && sections?.test(name));
    return (isOfSection && !/^\s*(?:#|$)/.test(line)) || (lines?.test(line) ?? false);
  });
  return kept.map((line) => line.trim()).join('\n');
}

const HEADER = /^\s*\[([^#\n]{1,200})\]\s*(?:#.*)?$/;
const KEY = /^([\w"'. \t-]{1,200})=/;

/** A name of TOML without what it may be written with: `"tool" . pytest`. */
function bare(name: string): string {
  return name.replace(/["'\s]/g, '');
}
