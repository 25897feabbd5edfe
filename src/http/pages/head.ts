import { type Html, html } from './html.ts';

type Head = { title: string; icon: string; sheet: Html };

/** What every document begins with, up to its body. Search engines are to leave the service alone. */
export const headOf = ({ title, icon, sheet }: Head): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon}">
<style>${sheet}</style>
</head>`;
