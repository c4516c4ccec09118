import { z } from 'zod';

/** Any instant that a Date can hold: it ends at 8.64e15 ms. */
export const anyInstant = z.number().int().min(0).max(8.64e15);
/** An instant that is stored: what is added to it, such as the hour of a window, must still be one. */
export const instant = z.number().int().min(0).max(8e15);
export const count = z.number().int().min(0);
export const amount = z.number().min(0);
