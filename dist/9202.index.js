import{modules as o}from"./49202.shared.js";import{modules as s}from"./31965.shared.js";const t=9202,d=[9202],m={...o,...s};export{t as id,d as ids,m as modules};
