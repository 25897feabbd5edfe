import { appSuite } from './app-suite.ts';
import { ACME, type TestApp } from './test-app.ts';
import { setApp } from './tickets.ts';

export const LAUNCH_URL = 'https://sales.example.com/start?from=steward';

/** A suite that opens access views of the app Sales. */
export const viewSuite = (name: string) => {
  const views = appSuite(name, { BASE_URL: 'https://steward.test' });
  views.before(({ app }) => setApp(app, { launch_url: LAUNCH_URL }));
  return views;
};

/** Headers of a browser in which a person opens a page. */
export const PERSON = {
  accept: 'text/html,application/xhtml+xml',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)',
};
export type Headers = Record<string, string | undefined>;

export const openView = (app: TestApp, key: string, headers: Headers = {}) =>
  app.send(`GET !/v/${key}/`, { headers: { ...PERSON, ...headers } });

export type NewView = Parameters<ReturnType<TestApp['as']>['accessViews']['create']>[0];

export const createView = (app: TestApp, input: NewView = {}) =>
  app.as(ACME).accessViews.create({ app: 'sales', ...input });

export const viewOf = (app: TestApp, key: string) => app.as(ACME).accessViews.get({ key });
