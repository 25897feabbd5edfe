import type { DescriptionsOf } from './index.ts';

export const apps: DescriptionsOf<'apps'> = {
  list: {
    summary: 'List apps',
    description:
      'The apps that you can open or manage. For apps that you manage, `usage` contains the actions and distinct users of the last 30, 60 and 90 days.',
  },
  get: { summary: 'Get an app' },
  status: {
    summary: 'Get the maintenance status of an app',
    description: 'For platforms, before they show the app to a user.',
  },
  stacks: {
    summary: 'List the stacks of an app',
    description:
      'Ordered by slug. Saved filters refer to a stack by its `id`. Stacks that the current package no longer contains are left out.',
  },
  versions: {
    summary: 'List the versions of an app',
    description: 'Most recently fetched first. `cursor` is the id of the last version of the previous page.',
  },
  rollback: {
    summary: 'Roll an app back to an earlier version',
    description: 'To the given version, or by default to the one that was loaded before.',
    problems: ['invalid-package'],
  },
  update: {
    summary: 'Update an app',
    description: 'Omitted fields stay unchanged.',
    problems: ['forbidden'],
  },
};

export const appPackages: DescriptionsOf<'appPackages'> = {
  fetch: {
    summary: 'Fetch a package from the store',
    description:
      'The given version, or `latest` for the newest version that is not a prerelease. The package is validated but not loaded.',
    problems: ['invalid-package', 'package-store-unavailable'],
  },
  load: {
    summary: 'Load the most recently fetched package',
    description: 'Does nothing if this version is already loaded.',
    problems: ['invalid-package'],
  },
};

export const usage: DescriptionsOf<'usage'> = {
  listByApp: {
    summary: 'Stream the usage of an app',
    description:
      'All entries of the last `window` days, newest first. The size of the response is not limited.',
  },
  listByUser: {
    summary: 'Get the usage of an app by a user',
    description: 'The newest entry, or with `window` an array of all entries of that many days.',
  },
  list: {
    summary: 'List the usage of an app page by page',
    description: 'Each page contains the `cursor` of the next page.',
  },
  series: {
    summary: 'Get usage by day',
    description: 'Of an app, of a user, or of a user in an app. Days without usage are included.',
    problems: ['not-found'],
  },
  top: { summary: 'Get the most active users and stacks of an app' },
  record: {
    summary: 'Record usage',
    description:
      'Takes one entry or an array of entries, and records all of them or none. An entry with an `id` is recorded once, even if it is sent again.',
  },
};

export const savedFilters: DescriptionsOf<'savedFilters'> = {
  list: { summary: 'List your saved filters' },
  listByStack: { summary: 'List your saved filters of a stack' },
  get: { summary: 'Get a saved filter' },
  create: {
    summary: 'Save a filter',
    description: 'This POST requires the CSRF token even with an API token.',
  },
  replace: {
    summary: 'Replace a saved filter',
    description: 'Returns 204, or with `Prefer: return=representation` the filter.',
  },
  remove: { summary: 'Delete a saved filter' },
};
