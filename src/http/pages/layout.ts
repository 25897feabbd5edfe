import { headOf } from './head.ts';
import { type Html, html } from './html.ts';
import { styleSheet } from './style-sheet.ts';

/** Whose page it is, as far as every page shows it. */
export type Brand = { client_name: string; support_email: string };

export type Page = {
  brand: Brand;
  /** Of the tab; the page's own heading is part of its content. */
  title: string;
  content: Html;
  /** Lists need more room than forms. */
  isWide?: boolean;
};

/** The whole document around a page's content: one header, one main, one footer. */
export const documentOf = ({
  brand,
  title,
  content,
  isWide = false,
}: Page): Html => html`${headOf({ title: `${title} – ${brand.client_name}`, icon: markOf(brand), sheet: styleSheet })}
<body${isWide && html` class="wide"`}>
<header><img src="${markOf(brand)}" alt="" width="40" height="40"><p>${brand.client_name}</p></header>
<main>
${content}
</main>
${footerOf(brand)}
</body>
</html>
`;

/** The drawn letter that the service makes for everybody without a picture. */
const markOf = ({ client_name: name }: Brand): string =>
  `/avatars/${encodeURIComponent(/[\p{L}\p{N}]/u.exec(name)?.[0] ?? 'S')}.svg`;

const footerOf = ({ support_email: address }: Brand): Html | false =>
  address !== '' && html`<footer><p>Need help? Write to ${mailLink(address)}.</p></footer>`;

export const mailLink = (address: string): Html =>
  html`<a href="mailto:${encodeURIComponent(address).replaceAll('%40', '@')}">${address}</a>`;
