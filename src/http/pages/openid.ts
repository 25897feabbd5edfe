import type { FastifyReply } from 'fastify';
import { html } from '../../lib/html.ts';
import { isAppId } from '../../lib/ids.ts';
import { notFound } from '../../lib/problems.ts';
import type { Door } from '../../services/openid/openid-logins.ts';
import { logoutForm } from './login.ts';
import { describeRefusal } from './open-app.ts';
import { formField, formFields, type PageContext, type Pages } from './page-context.ts';
import { formActionSources, localPath, redirectTo } from './page-layout.ts';
import { alertBox } from './parts.ts';

/** A page that a person sees instead of the response of the protocol. */
export type OpenidPage =
  | { kind: 'refused'; door: Door; back: string }
  | { kind: 'consent'; door: Door; appId: string; claims: readonly string[]; next: string; back: string }
  | { kind: 'logout'; next: string; appName: string | null }
  | { kind: 'log-out-now'; next: string }
  | { kind: 'logged-out'; next: string | null }
  | { kind: 'error'; message: string; status: number };

/** What people see while an app logs them in or out with OpenID Connect. */
export const sendOpenidPage = async (context: PageContext, page: OpenidPage): Promise<FastifyReply> => {
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
        formAction: formActionSources(page.next),
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
        title: 'The app sent an invalid request',
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
      if (!isAppId(app)) throw notFound('app');
      if (actor?.credential?.kind === 'session') await openidLogins.agree(actor, app, claims.split(' '));
    });
    return problem
      ? context.sendCard({ title: 'This was not stored', body: html`${alertBox(problem)}`, problem })
      : redirectTo(context.reply, next ?? '/');
  },
};

type Of<Kind extends OpenidPage['kind']> = Extract<OpenidPage, { kind: Kind }>;

/** What the claims say of a person. */
const CLAIM_NAMES: readonly (readonly [name: string, claims: readonly string[]])[] = [
  ['your email address', ['email', 'email_verified']],
  ['your name', ['name', 'given_name', 'family_name']],
  ['your groups', ['groups']],
  ['your roles', ['roles']],
  ['your roles in the app', ['app_roles']],
  ['which data you may see', ['data_permissions']],
];

const sendConsent = (context: PageContext, { door, appId, claims, next, back }: Of<'consent'>) => {
  const { app_label: app, client_name: client } = door.opening;
  const names = CLAIM_NAMES.flatMap(([name, of]) => (of.some((claim) => claims.includes(claim)) ? name : []));
  return context.sendForm({
    title: `Log in to ${app}?`,
    action: '/oidc/consent/',
    hidden: { app: appId, claims: claims.join(' '), next },
    body: html`<p>${app} belongs to ${client}, of which you are not a member. It gets ${listOf(names)}.</p>
<button>Continue to ${app}</button>
<p><a href="${back}">Cancel</a></p>`,
    formAction: formActionSources(next),
  });
};

const listOf = (names: readonly string[]): string =>
  names.length === 0 ? 'only an identifier for you' : new Intl.ListFormat('en').format(names);

const sendRefusal = async (context: PageContext, { door, back }: Of<'refused'>) => {
  const { app_label: app, client_name: client } = door.opening;
  const { title, body } = (await describe(context, door)) ?? {
    title: `You may not open ${app}`,
    body: html`<p>Ask an admin of ${client} for access.</p>`,
  };
  return context.sendCard({
    title,
    body: html`${body}
<p><a href="${back}">Back to ${app}</a></p>`,
    problem: door.refusal,
    status: door.access === 'in-maintenance' ? 503 : 403,
  });
};

const describe = async (
  context: PageContext,
  { refusal, opening: { app_label: app, app_slug: slug } }: Door,
) =>
  refusal
    ? describeRefusal(context, slug, refusal)
    : {
        title: 'Viewing has ended',
        body: html`<p>You no longer look at ${app} as someone else.</p>
<p><a class="button" href="/launch/${slug}/">Open it as yourself</a></p>`,
      };
