import{modules as o}from"./6952.shared.js";import{modules as s}from"./80615.shared.js";const t=615,d=[615],m={...o,...s};export{t as id,d as ids,m as modules};
