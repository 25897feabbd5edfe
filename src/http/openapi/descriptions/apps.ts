import type { DescriptionsOf } from './index.ts';

export const apps: DescriptionsOf<'apps'> = {
  list: [
    'List apps',
    'The apps that you can open or manage. For apps that you manage, `usage` contains the actions and distinct users of the last 30, 60 and 90 days.',
  ],
  get: ['Get an app'],
  status: ['Get the maintenance status of an app', 'For platforms, before they show the app to a user.'],
  permissions: ['Get what you may do with an app', 'For screens that offer only what you may do.'],
  previewMaintenance: [
    'Preview the page of an app in maintenance',
    'The title and the sanitized message that people would see instead of the app. Nothing is saved.',
  ],
  stacks: [
    'List the stacks of an app',
    'Ordered by slug. Saved filters refer to a stack by its `id`. Stacks that the current package no longer contains are left out.',
  ],
  versions: [
    'List the versions of an app',
    'Most recently fetched first. `cursor` is the id of the last version of the previous page.',
  ],
  rollback: [
    'Roll an app back to an earlier version',
    'To the given version, or by default to the one that was loaded before.',
    ['invalid-package'],
  ],
  openTicket: [
    'Get a ticket for an app',
    'A signed statement of who you are and what you may see, for one app and a few minutes. `stack` is the slug of the stack to open.',
    ['not-found', 'client-closed', 'app-in-maintenance'],
  ],
  launch: [
    'Get the URL that opens an app',
    'With a one-time code, which the app exchanges for a ticket within a minute. `stack` is the slug of the stack to open.',
    ['not-found', 'client-closed', 'app-in-maintenance'],
  ],
  update: ['Update an app', 'Omitted fields stay unchanged.', ['forbidden']],
  clearCache: [
    'Announce that the cache of an app is to be cleared',
    'Records the event `app.clear-cache` in the audit trail, where platforms read it with a token of staff or administrators. The service itself caches nothing.',
  ],
};

export const appPackages: DescriptionsOf<'appPackages'> = {
  fetch: [
    'Fetch a package from the store',
    'The given version, or `latest` for the newest version that is not a prerelease. The package is validated but not loaded.',
    ['invalid-package', 'package-store-unavailable'],
  ],
  load: [
    'Load the most recently fetched package',
    'Does nothing if this version is already loaded.',
    ['invalid-package'],
  ],
};

export const usage: DescriptionsOf<'usage'> = {
  listByApp: [
    'Stream the usage of an app',
    'All entries of the last `window` days, newest first. The size of the response is not limited.',
  ],
  listByUser: [
    'Get the usage of an app by a user',
    'The newest entry, or with `window` an array of all entries of that many days.',
  ],
  listByUserInAllApps: [
    'Stream the usage of a user',
    'All entries of the last `window` days, newest first, in all apps whose usage you may see. The size of the response is not limited.',
  ],
  list: ['List the usage of an app page by page', 'Each page contains the `cursor` of the next page.'],
  series: [
    'Get usage by day',
    'Of an app, of a user, or of a user in an app. Days without usage are included.',
    ['not-found'],
  ],
  top: ['Get the most active users and stacks of an app'],
  report: [
    'Compare usage by day, week or month',
    'Of an app, a stack of it, a client, a user, or of all apps whose usage you can see. Newest first. Each period has its counterpart in the periods before: of a period that has not ended, the same number of days. `users` counts distinct users of one app, and is null otherwise.',
    ['not-found'],
  ],
  topApps: ['Get the most used apps', 'Of a client, or of all apps whose usage you can see.', ['not-found']],
  dailyByApp: [
    'Get the daily actions of apps',
    'The apps whose usage you can see, with the order and the filters of `GET /jb/apps/`. The last of `daily_actions` is today.',
  ],
  idleApps: [
    'List idle apps',
    'Apps that are older than `days` and were not used in these days, oldest first.',
  ],
  idleUsers: [
    'List idle users',
    'Active users who joined, last logged in and last used an app more than `days` ago, as far as you can see. Those who never logged in come first.',
    ['not-found'],
  ],
  record: [
    'Record usage',
    'Takes one entry or an array of entries, and records all of them or none. An entry with an `id` is recorded once, even if it is sent again.',
  ],
};

export const savedFilters: DescriptionsOf<'savedFilters'> = {
  list: ['List your saved filters'],
  listByStack: ['List your saved filters of a stack'],
  get: ['Get a saved filter'],
  create: ['Save a filter', 'This POST requires the CSRF token even with an API token.'],
  replace: ['Replace a saved filter', 'Returns 204, or with `Prefer: return=representation` the filter.'],
  remove: ['Delete a saved filter'],
};
