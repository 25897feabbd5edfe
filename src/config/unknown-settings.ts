import leven from 'leven';

/** Variables with these prefixes are meant for the service, because nothing else uses them. */
const OWN_PREFIX = /^(APP_STORE|ARGON2|DATABASE|INVITATION|MAIL|METRICS|SMTP|STEWARD)_/;
/** Kubernetes sets these for a service that is called `steward`. */
const SERVICE_LINK = /^STEWARD_(SERVICE_|PORT(_|$))/;
const MAX_TYPOS = 2;
/** Shorter names are similar to too many others: `HOST` and `HOME`. */
const MIN_SIMILAR_LENGTH = 6;

/** The variables that are probably meant as settings, and what to do about each. `isSimilar`: to the name of one. */
export const findUnknownSettings = (
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): { isSimilar: boolean; message: string; action: string }[] =>
  Object.keys(env)
    .filter((name) => !names.includes(name) && !SERVICE_LINK.test(name))
    .flatMap((name) => {
      const similar = similarSetting(name, names);
      if (similar === undefined && !OWN_PREFIX.test(name)) return [];
      const hint = similar === undefined ? 'See docs/settings.md' : `Use ${similar}`;
      const isSimilar = similar !== undefined;
      return {
        isSimilar,
        message: `${name} is not a setting and has no effect.`,
        action: `${hint}, or remove it.`,
      };
    });

const similarSetting = (name: string, names: readonly string[]): string | undefined => {
  const bare = name.replace(/^STEWARD_/, '');
  if (bare !== name && names.includes(bare)) return bare;
  if (name.length < MIN_SIMILAR_LENGTH) return undefined;
  return names.find((known) => known.length >= MIN_SIMILAR_LENGTH && leven(name, known) <= MAX_TYPOS);
};
