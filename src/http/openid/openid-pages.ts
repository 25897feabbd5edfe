import type { FastifyReply } from 'fastify';
import { type Html, html, maintenanceNotice } from '../../lib/html.ts';
import { notFound } from '../../lib/problems.ts';
import type { Door } from '../../services/openid/openid-logins.ts';
import { logoutForm } from '../pages/login.ts';
import { askForAccess } from '../pages/open-app.ts';
import { attempt, formField, formFields, type PageContext, type Pages } from '../pages/page-context.ts';
import { localPath, redirectTo, TO_ANY_SITE } from '../pages/page-layout.ts';
import { alertBox } from '../pages/parts.ts';
import type { OpenidPage, Visit } from './visit.ts';

/** What people see while an app logs them in or out with OpenID Connect. */
export const sendOpenidPage = async (context: PageContext, { page }: Visit): Promise<FastifyReply> => {
  if (page === null) throw new Error('there is no page');
  switch (page.kind) {
    case 'refused':
      return sendRefusal(context, page);
    case 'consent':
      return sendConsent(context, page);
    case 'logout':
      return context.sendCard({
        title: 'Log out?',
        body: html`<p>${page.appName ?? 'An app'} asks to log you out. This also ends your logins to other apps.</p>
${logoutForm(context, { next: page.next })}`,
        formAction: TO_ANY_SITE,
      });
    case 'log-out-now':
      await context.logOut();
      return redirectTo(context.reply, page.next);
    case 'logged-out':
      return page.next === null
        ? context.sendCard({
            title: 'You are logged out',
            body: html`<p><a class="button" href="/login/">Log in again</a></p>`,
          })
        : redirectTo(context.reply, page.next);
    case 'error':
      return context.sendCard({
        title: 'The app sent a wrong request',
        body: html`<p>The request of the app cannot be answered: ${page.message}.</p>
<p>Tell the people who run the app.</p>`,
        status: page.status,
      });
  }
};

/** `/oidc/consent/` stores that a person agrees to what an app gets, then continues with the login to it. */
export const consentPages: Pages = {
  'POST /oidc/consent/': async (context) => {
    const actor = await context.currentActor();
    const next = localPath(formField(context, 'next'));
    const { openidLogins } = context.openServices();
    const { problem } = await context.submit(async () => {
      const [app, claims] = formFields(context, 'app', 'claims');
      if (!APP_ID.test(app)) throw notFound('app');
      if (actor?.credential?.kind === 'session') await openidLogins.agree(actor, app, claims.split(' '));
    });
    return problem
      ? context.sendCard({ title: 'This was not stored', body: html`${alertBox(problem)}`, problem })
      : redirectTo(context.reply, next ?? '/');
  },
};

/** PostgreSQL cannot read all text. */
const APP_ID = /^[A-Za-z0-9]{8}$/;

type Of<Kind extends OpenidPage['kind']> = Extract<OpenidPage, { kind: Kind }>;

const CLAIM_NAMES: Readonly<Record<string, string>> = {
  email: 'your email address',
  name: 'your name',
  groups: 'your groups',
  roles: 'your roles',
  app_roles: 'your roles in the app',
  data_permissions: 'which data you may see',
};

const sendConsent = (context: PageContext, { door, appId, claims, next, back }: Of<'consent'>) => {
  const { app_label: app, client_name: client } = door.opening;
  const names = Object.entries(CLAIM_NAMES).flatMap(([claim, name]) => (claims.includes(claim) ? name : []));
  return context.sendForm({
    title: `Log in to ${app}?`,
    action: '/oidc/consent/',
    hidden: { app: appId, claims: claims.join(' '), next },
    body: html`<p>${app} belongs to ${client}, of which you are not a member. It gets ${listOf(names)}.</p>
<button>Continue to ${app}</button>
<p><a href="${back}">Cancel</a></p>`,
    formAction: TO_ANY_SITE,
  });
};

const listOf = (names: readonly string[]): string =>
  names.length === 0 ? 'an identifier of you' : new Intl.ListFormat('en').format(names);

const sendRefusal = async (context: PageContext, { door, appId, back }: Of<'refused'>) => {
  const { title, text, status } = await describe(context, door, appId);
  return context.sendCard({
    title,
    body: html`${text}
<p><a href="${back}">Back to ${door.opening.app_label}</a></p>`,
    status,
    formAction: TO_ANY_SITE,
  });
};

type Refusal = { title: string; text: Html; status: number };

const describe = async (context: PageContext, door: Door, appId: string): Promise<Refusal> => {
  const { app_label: app, app_slug: slug, client_name: client } = door.opening;
  const closed = `You may not open ${app}`;
  switch (door.access) {
    case 'look-ended':
      return {
        title: 'The look has ended',
        text: html`<p>You no longer look at ${app} as someone else.</p>
<p><a class="button" href="/launch/${slug}/">Open it as yourself</a></p>`,
        status: 403,
      };
    case 'in-maintenance': {
      const { message } = await readMaintenance(context, slug);
      const { title, body } = await maintenanceNotice(app, message);
      return { title, text: body, status: 503 };
    }
    case 'attributes-invalid': {
      const { problem } = await attempt(() => context.reader.apps.launch({ app_slug: slug }));
      return {
        title: 'This app is not set up for you',
        text: html`<p>${problem?.message ?? `An admin of ${client} can correct it.`}</p>`,
        status: 403,
      };
    }
    case 'client-closed':
      return { title: 'This app is closed', text: html`<p>${client} has closed its apps.</p>`, status: 403 };
    case 'allowed':
    case 'not-granted':
    case 'user-inactive':
      return {
        title: closed,
        text: (await askForAccess(context, appId)) ?? html`<p>Ask an admin of ${client} for access.</p>`,
        status: 403,
      };
  }
};

const readMaintenance = async (context: PageContext, slug: string) => {
  const apps = await context.reader.apps.list({});
  return { message: apps.find((app) => app.slug === slug)?.maintenance_message ?? '' };
};
