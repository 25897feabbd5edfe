import type { WordingOf } from './description.ts';

export const apps: WordingOf<'apps'> = {
  list: {
    summary: 'List apps',
    description:
      'Those that you may open or manage. `usage` is shown to those who manage them: actions and different people of the last 30, 60 and 90 days.',
  },
  get: { summary: 'One app' },
  status: {
    summary: 'Whether an app is in maintenance',
    description: 'For platforms, before they show the app to somebody.',
  },
  stacks: {
    summary: 'List the stacks of an app',
    description:
      'By slug. Saved filters name a stack by its `id`. A stack that the package has dropped is left out.',
  },
  versions: {
    summary: 'Versions of an app',
    description: 'The last fetched first. `cursor` is the id of the last one of the page before.',
  },
  rollback: {
    summary: 'Go back to an earlier version of an app',
    description: 'To the version named, or without one to that which was loaded before.',
    problems: ['invalid-package'],
  },
  update: { summary: 'Change an app', description: 'What is left out stays.', problems: ['forbidden'] },
};

export const appPackages: WordingOf<'appPackages'> = {
  fetch: {
    summary: 'Fetch a package from the store',
    description:
      'Of the version named, or `latest`: the newest that is no prerelease. It is checked whole, and not loaded yet.',
    problems: ['invalid-package', 'package-store-unavailable'],
  },
  load: {
    summary: 'Load the package that was fetched last',
    description: 'Loading what runs already changes nothing.',
    problems: ['invalid-package'],
  },
};

export const usage: WordingOf<'usage'> = {
  listByApp: {
    summary: 'Stream the usage of an app',
    description: 'All entries of the last `window` days, the newest first, as long as they may be.',
  },
  listByUser: {
    summary: 'Usage of an app by a user',
    description: 'The newest entry; with `window`, all entries of so many days as an array.',
  },
  list: {
    summary: 'Page through the usage of an app',
    description: 'Each page tells the `cursor` of the next.',
  },
  series: {
    summary: 'Usage by day',
    description: 'Of an app, of a user, or of a user in an app, without gaps.',
    problems: ['not-found'],
  },
  top: { summary: 'Who and what is most active in an app' },
  record: {
    summary: 'Record usage, one entry or many',
    description:
      'An object or an array of them. All are written, or none. An entry with an `id` is written once, however often it comes.',
  },
};

export const savedFilters: WordingOf<'savedFilters'> = {
  list: { summary: 'List your saved filters' },
  listByStack: { summary: 'List your saved filters of a stack' },
  get: { summary: 'One saved filter' },
  create: {
    summary: 'Save a filter',
    description: 'A POST here wants the CSRF token, whichever way you have logged in.',
  },
  replace: {
    summary: 'Replace a saved filter',
    description: 'Answers 204; with `Prefer: return=representation` the filter.',
  },
  remove: { summary: 'Remove a saved filter' },
};
