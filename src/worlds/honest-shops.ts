import { defineShop, type ShopDefinition } from './shops.ts'

const day = 24 * 60 * 60

/** Honest shops. The first has no difficulties for the buyer; each of the others has one (docs/shops.md). */
export const honestShops = {
  'plain-goods': defineShop({
    id: 'plain-goods',
    name: 'Plain Goods',
    about:
      'Everyday things for home and desk, made to last. Free shipping. Returns within 30 days, no questions asked.',
    products: [
      {
        id: 'stoneware-mug',
        name: 'Stoneware mug',
        description: 'Glazed by hand, 350 ml. Dishwasher safe.',
        price: 1800,
      },
      { id: 'dotted-notebook', name: 'Dotted notebook', description: 'A5, 192 pages, lies flat.', price: 1450 },
      {
        id: 'desk-lamp',
        name: 'Desk lamp',
        description: 'Powder-coated steel, warm LED, dims in three steps.',
        price: 6900,
      },
      { id: 'linen-towel', name: 'Linen towel', description: 'Washed European linen, 50 by 70 cm.', price: 2200 },
    ],
    returns: { withinSeconds: 30 * day, refundAfterSeconds: day },
    says: { receipt: 'Thank you for shopping at Plain Goods. Keep this receipt for returns.' },
  }),

  'last-step': defineShop({
    id: 'harbor-and-pine',
    name: 'Harbor & Pine',
    about: 'Cookware and kitchen linen from a small shop on the coast of Maine. Prices exclude tax and shipping.',
    products: [
      {
        id: 'carbon-steel-pan',
        name: 'Carbon steel pan, 10 inch',
        description: 'Seasoned with flaxseed oil. Works on every stove.',
        price: 5400,
      },
      {
        id: 'maple-board',
        name: 'Maple cutting board',
        description: 'End grain, 16 by 11 inches, with feet.',
        price: 7800,
      },
      { id: 'linen-apron', name: 'Linen apron', description: 'Cross back, two pockets, one size.', price: 4600 },
    ],
    prices: { taxPercent: 8.875, shipping: 795 },
    terms: 'Sales tax and flat-rate shipping are added at checkout.',
    returns: { withinSeconds: 14 * day, refundAfterSeconds: 2 * day },
  }),

  'ships-later': defineShop({
    id: 'millbrook-books',
    name: 'Millbrook Books',
    about: 'An independent bookshop since 1987. We charge your card when your parcel leaves the shop.',
    products: [
      {
        id: 'field-guide-birds',
        name: 'A Field Guide to Birds',
        description: 'Sixth edition, paperback, 496 pages.',
        price: 2350,
      },
      { id: 'letterpress-basics', name: 'Letterpress Basics', description: 'Hardcover with 140 plates.', price: 3800 },
      { id: 'atlas-of-rivers', name: 'Atlas of Rivers', description: 'Large format, cloth bound.', price: 6400 },
    ],
    terms: 'Orders ship within two business days. Your card is authorized now and charged when we ship.',
    captures: { afterSeconds: 2 * day },
    returns: { withinSeconds: 30 * day, refundAfterSeconds: 3 * day },
    says: { shipped: 'Your books left the shop today. Your card was charged.' },
  }),

  'two-parcels': defineShop({
    id: 'fernway-outdoor',
    name: 'Fernway Outdoor',
    about: 'Tents, stoves and packs, tested on the trail. Large orders may ship from two warehouses.',
    products: [
      {
        id: 'two-person-tent',
        name: 'Two-person tent',
        description: 'Freestanding, 1.9 kg, with footprint.',
        price: 18900,
      },
      {
        id: 'gas-stove',
        name: 'Gas stove',
        description: 'Folds flat, boils half a liter in three minutes.',
        price: 4900,
      },
      {
        id: 'sleeping-pad',
        name: 'Sleeping pad',
        description: 'Insulated, R-value 4.2, packs down to a liter.',
        price: 8900,
      },
    ],
    terms: 'Your card is charged when the first parcel ships. You pay separately for items that ship later.',
    captures: { afterSeconds: day, parcels: 'first_only' },
    says: {
      shipped:
        'Your first parcel is on its way, and your card was charged for it. We released the rest of the authorization. To get the second parcel, pay for it in the new checkout.',
    },
  }),

  'moving-prices': defineShop({
    id: 'farelane-tickets',
    name: 'Farelane Tickets',
    about: 'Seats for concerts, theater and sport. Prices follow demand until you check out.',
    products: [
      {
        id: 'symphony-balcony',
        name: 'City Symphony, balcony',
        description: 'One seat, Saturday evening, row F.',
        price: 6200,
        checkoutPrice: 7450,
      },
      {
        id: 'jazz-matinee',
        name: 'Jazz matinee',
        description: 'One seat at a table near the stage.',
        price: 3500,
        checkoutPrice: 3900,
      },
      { id: 'open-air-cinema', name: 'Open-air cinema', description: 'One blanket spot, Thursday.', price: 1400 },
    ],
    terms: 'The price at checkout is the price you pay. Seats are held while you check out.',
    says: { checkout: 'Prices for some of your seats have changed since you opened the page.' },
  }),

  'sold-out': defineShop({
    id: 'kestrel-audio',
    name: 'Kestrel Audio',
    about: 'Headphones, turntables and cables, shipped from our own stock.',
    products: [
      {
        id: 'studio-headphones',
        name: 'Studio headphones',
        description: 'Closed back, 38 ohm, detachable cable.',
        price: 12900,
        available: false,
      },
      { id: 'phono-cartridge', name: 'Phono cartridge', description: 'Moving magnet, elliptical stylus.', price: 7900 },
      {
        id: 'speaker-cable',
        name: 'Speaker cable, 3 m',
        description: 'Oxygen-free copper, banana plugs.',
        price: 3400,
      },
    ],
    captures: { afterSeconds: 60 * 60 },
    says: {
      canceled:
        'We are sorry: an item of your order turned out to be sold out when we packed it. The order is canceled, and the authorization on your card is reversed.',
    },
  }),

  'slow-and-shaky': defineShop({
    id: 'tidewater-electronics',
    name: 'Tidewater Electronics',
    about: 'Chargers, hubs and adapters at fair prices. Our checkout is busy at times: please be patient.',
    products: [
      { id: 'usb-c-charger', name: 'USB-C charger, 65 W', description: 'Two ports, folding plug.', price: 3900 },
      {
        id: 'seven-port-hub',
        name: 'Seven-port hub',
        description: 'Aluminum, with its own power supply.',
        price: 5600,
      },
      { id: 'hdmi-adapter', name: 'HDMI adapter', description: '4K at 60 Hz.', price: 2100 },
    ],
    answers: { slowMs: 1500, failsOnce: 'after_charge' },
    returns: { withinSeconds: 30 * day, refundAfterSeconds: day },
  }),
} as const satisfies Record<string, ShopDefinition>
