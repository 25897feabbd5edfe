import semver from 'semver';

export type ReleaseState = {
  /** Of package.json. */
  version: string;
  /** Versions that must be the same, by file. */
  otherVersions: Record<string, string>;
  lockVersion: string;
  changelog: string;
  /** `git status --porcelain`. */
  changes: string;
  tags: string[];
};

/** The heading of a section, as keepachangelog.com writes it: `## [1.2.3] - 2026-01-31`. */
const HEADING = /^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$/m;

/** @returns one line for each reason not to release */
export const findObstacles = (state: ReleaseState): string[] => {
  const { version, otherVersions, lockVersion, changes, tags } = state;
  const obstacles: string[] = [];
  if (changes !== '') obstacles.push(`The checkout has uncommitted changes:\n${changes}`);
  if (semver.valid(version) !== version)
    obstacles.push(`package.json: ${version} is not a semantic version.`);
  for (const [file, other] of Object.entries({ ...otherVersions, 'package-lock.json': lockVersion }))
    if (other !== version)
      obstacles.push(`${file}: the version is ${other}, but that of package.json is ${version}.`);
  if (tags.includes(`v${version}`)) obstacles.push(`The tag v${version} exists: raise the version.`);
  const newer = tags.filter((tag) => semver.valid(tag) && semver.valid(version) && semver.gt(tag, version));
  if (newer.length > 0) obstacles.push(`${newer.join(', ')} is newer than ${version}.`);
  return [...obstacles, ...changelogObstacles(state)];
};

const changelogObstacles = ({ changelog, version }: ReleaseState): string[] => {
  const sections = changelog.split(/^(?=## \[)/m).map((text) => {
    const [, name, date] = HEADING.exec(text) ?? [];
    return { name, date, text };
  });
  const released = sections.find(({ name }) => name === version);
  const unreleased = sections.find(({ name }) => name === 'Unreleased');
  if (!released) return [`CHANGELOG.md: there is no section "## [${version}] - DATE".`];
  const obstacles: string[] = [];
  if (released.date === undefined) obstacles.push(`CHANGELOG.md: the section of ${version} has no date.`);
  if (!/^- /m.test(released.text)) obstacles.push(`CHANGELOG.md: the section of ${version} is empty.`);
  if (/^- /m.test(unreleased?.text ?? ''))
    obstacles.push(
      `CHANGELOG.md: "Unreleased" still has entries. Move them to ${version}, or release later.`,
    );
  return obstacles;
};
