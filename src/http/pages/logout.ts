import type { FastifyInstance } from 'fastify';
import { alertBox, hiddenField } from './fields.ts';
import { fieldOf } from './form-body.ts';
import { type Html, html } from './html.ts';
import { sentenceOf } from './messages.ts';
import { type PageDeps, type Visit, visitOf } from './page-context.ts';
import { ownPath } from './redirects.ts';
import { goTo, sendPage } from './send-page.ts';

/** `/logout/`: by POST alone, so that no link or image logs anybody out. */
export const serveLogout = (app: FastifyInstance, deps: PageDeps): void => {
  app.post('/logout/', async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const next = ownPath(fieldOf(request, 'next'));
    const { problem } = await visit.submit((caller) => caller.sessions.end({}));
    if (!problem || !(await visit.user())) return goTo(reply, next ?? '/login/');

    const content = html`
<h1>Log out?</h1>
<div class="card">${alertBox(sentenceOf(problem))}${logoutForm(visit, { next })}</div>`;
    const brand = await visit.reader.branding.get({});
    return sendPage(reply, { brand, title: 'Log out', content }, { problem });
  });
};

type Look = { next?: string | null; isQuiet?: boolean };

export const logoutForm = (visit: Visit, { next = null, isQuiet = false }: Look = {}): Html => html`
<form method="post" action="/logout/">
${visit.csrfField()}
${next !== null && hiddenField('next', next)}
<button${isQuiet && html` class="quiet"`}>Log out</button>
</form>`;
