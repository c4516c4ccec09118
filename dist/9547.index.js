const o={};export{o as modules};
