import { Button } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ReactNode } from 'react';

type Props = { children: ReactNode; href?: string; title?: string };

/** A link from the heading of a screen to another screen, styled as a button. */
export const HeaderLink = createLink((props: Props) => <Button component="a" variant="default" {...props} />);
