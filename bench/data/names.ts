/** With letters beyond ASCII, as people have them: those take another way through encoders. */
export const FIRST_NAMES = [
  'Anna',
  'Bela',
  'Carlos',
  'Dagny',
  'Elif',
  'Farid',
  'Grete',
  'Hugo',
  'Inês',
  'Jörg',
  'Keiko',
  'Liam',
] as const;

export const LAST_NAMES = [
  'Smith',
  'Müller',
  'García',
  'Ivanova',
  'Tanaka',
  'Okafor',
  'Nguyen',
  'Kovács',
  'Rossi',
  'Jansen',
] as const;

export const DEPARTMENTS = ['Finance', 'Operations', 'Marketing', 'Research', 'Logistics'] as const;
export const LOCALES = ['en', 'de', 'fr', 'es'] as const;

const CHROME_VERSIONS = [138, 139, 140, 141, 142];
const SYSTEMS = ['Windows NT 10.0; Win64; x64', 'Macintosh; Intel Mac OS X 10_15_7', 'X11; Linux x86_64'];

/** Browsers of the form that most have, a little shorter. */
export const USER_AGENTS = SYSTEMS.flatMap((system) =>
  CHROME_VERSIONS.map((version) => `Mozilla/5.0 (${system}) AppleWebKit/537.36 Chrome/${version}.0.0.0`),
);
