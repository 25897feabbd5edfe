import { Button } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ReactNode } from 'react';

type Props = { children: ReactNode; href?: string; title?: string };

/** Leads from the heading of a screen to another one, as a button beside the others. */
export const HeaderLink = createLink((props: Props) => <Button component="a" variant="default" {...props} />);
