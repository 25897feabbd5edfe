/** Types only. The package replaces this declaration: see `packaging/`. */
export type { AppRouter } from '../../routers/index.ts';
